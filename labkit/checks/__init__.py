"""The checks. Read in this order: exercise, answer, host, judge, run; then one exercise, say retry.

A check runs an answer in a child through scenarios (workload and host) and judges what was seen on this side.
"""
