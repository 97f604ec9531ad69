# wrong: nobody is asked, nothing is done
# diagnosed: does nothing
def run_agent(client, tools, journal, task, on_progress):
    return None
