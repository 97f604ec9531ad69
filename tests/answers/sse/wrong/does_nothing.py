# wrong: does nothing
# diagnosed: returns no response
async def sse_progress(request):
    return None
