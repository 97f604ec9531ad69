# wrong: does nothing
# diagnosed: returns no response
async def submit_task(request):
    return None
