"""The command line: every command ends in 0 (fine), 1 (the checked thing is wrong) or 2 (no answer to what was asked, said in one line).

Never a traceback for what a person typed, and no command imports more than its own part. A line that begins with `labkit:` says what cannot be used, one
with `labkit failed:` that the input is not to blame. Ctrl-C ends with 130 (JupyterLab with 0, in its own way), a reader that closed the pipe with 141, both
without a word but for what `grade` says of going on. A terminal that cannot show a character gets another one for it, and a stream that is closed swallows
what it is told.

Not handled here: what the commands do. Each function below hands its arguments to the module that knows.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import labkit
from labkit.errors import LabkitError, StoreBusy, UsageError
from labkit.help_text import ADDRESSES, JOBS
from labkit.parser import MOST_WORKERS, Parser, count, counts, folder, free_port, jobs, port, seconds, threads
from labkit.streams import let_go_of_stdout, ready_streams

INTERRUPTED, PIPE_CLOSED = 130, 141
ENGINES = (
    "how to look: sweep (as without this option) tries every crash point, search draws schedules instead, kill tries every crash point with real "
    "processes; interleave (as without it) tries the orders of several callers. Refused where the exercise has nothing of the kind"
)

Command = Callable[[argparse.Namespace], int]


def lab(arguments: argparse.Namespace) -> int:
    from labkit import lab_server, workfolder

    print(workfolder.fill(arguments.dir).text(), flush=True)
    return lab_server.serve(arguments.dir, browser=not arguments.no_browser, port=arguments.port)


def exercises(arguments: argparse.Namespace) -> int:
    from labkit.checks import command

    return command.exercises(as_json=arguments.json)


def check(arguments: argparse.Namespace) -> int:
    from labkit.checks import command

    file = None if arguments.file is None else str(arguments.file)
    return command.check(
        arguments.id, file, as_json=arguments.json, engine=arguments.engine, database=arguments.database
    )


def replay(arguments: argparse.Namespace) -> int:
    from labkit.checks import command

    return command.replay(arguments.token, None if arguments.file is None else str(arguments.file))


def hint(arguments: argparse.Namespace) -> int:
    from labkit.checks import command

    return command.hint(arguments.id, arguments.level)


def reset(arguments: argparse.Namespace) -> int:
    from labkit import workfolder

    print(workfolder.reset(arguments.id))
    return 0


def progress(arguments: argparse.Namespace) -> int:
    from labkit.checks import command

    return command.progress()


def demo(arguments: argparse.Namespace) -> int:
    from labkit.demo import main as run

    return run(kill_at=arguments.kill_at, seed=arguments.seed, naive=arguments.naive)


def worker(arguments: argparse.Namespace) -> int:
    from labkit.queue import process

    return process.work(
        arguments.database_url, arguments.app, workers=arguments.workers, lease_seconds=arguments.lease,
        grace_seconds=arguments.grace, say=partial(print, flush=True),
    )  # fmt: skip


def serve(arguments: argparse.Namespace) -> int:
    from labkit.server import command

    return command.serve(
        arguments.database_url, host=arguments.host, port=arguments.port, names=arguments.name, token=arguments.token, max_open=arguments.max_open,
        allowed=arguments.allow_webhook,
        say=partial(print, flush=True),
    )  # fmt: skip


def mcp(arguments: argparse.Namespace) -> int:
    from labkit.mcp_server import command

    return command.serve(arguments.database_url, port=arguments.http, say=partial(print, flush=True))


def release(arguments: argparse.Namespace) -> int:
    from labkit.classroom.release import command

    return command(arguments.dir, arguments.out, check=arguments.check)


def grade(arguments: argparse.Namespace) -> int:
    from labkit.checks.exercise import SQL
    from labkit.checks.ticker import Ticker
    from labkit.classroom.grade import command

    databases = (arguments.database,) if arguments.database else SQL
    with Ticker(sys.stderr) as ticker:
        return command(
            arguments.dir, arguments.out, arguments.masters, seed=arguments.seed, isolation=arguments.isolation, jobs=arguments.jobs,
            databases=databases, told=ticker,
        )  # fmt: skip


def lint(arguments: argparse.Namespace) -> int:
    from labkit.checks.ticker import Ticker
    from labkit.classroom.lint import command

    with Ticker(sys.stderr) as ticker:
        return command(arguments.dir, ticker)


def doctor(arguments: argparse.Namespace) -> int:
    from labkit.classroom.doctor import command

    return command(partial(print, flush=True))


def build() -> Parser:
    """The parser with all commands; each `--help` ends with an example."""
    parser = Parser(prog="labkit", description="Break agent workflows, see what happened, prove that it cannot happen any more.")
    parser.add_argument("--version", action="version", version=f"labkit {labkit.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True, parser_class=Parser)

    def add(name: str, run: Command, text: str, example: str) -> Parser:
        sub = commands.add_parser(name, help=text, description=text, epilog=f"example:\n  {example}")
        sub.set_defaults(run=run)
        return sub

    _add_learning(add)
    _add_checking(add)
    _add_working(add)
    _add_teaching(add)
    return parser


def _add_learning(add: Callable[[str, Command, str, str], Parser]) -> None:
    sub = add("lab", lab, "Fill a work folder and open JupyterLab on the first notebook.", "labkit lab work")
    sub.add_argument("dir", type=folder, nargs="?", default=Path("work"), metavar="DIR", help="default: work")
    sub.add_argument("--no-browser", action="store_true", help="start the server only and print its address")
    sub.add_argument("--port", type=port, default=8888, help="default: 8888, or the next free one")
    sub = add("reset", reset, "Bring one notebook back; your version is kept beside it.", "labkit reset retry")
    sub.add_argument("id", metavar="ID", help="an exercise, or a notebook by its name or path")
    add("progress", progress, "Show which exercises you have passed.", "labkit progress")
    sub = add("demo", demo, "Kill a deployment, start it again, count the effects.", "labkit demo --kill-at 86")
    sub.add_argument("--kill-at", type=counts, metavar="N[,N...]", help="the place at which the process is killed, then the next one, ...")
    sub.add_argument("--seed", type=count, metavar="N", help="draws the place when none is given")
    sub.add_argument("--naive", action="store_true", help="deploy without keys and without a record of finished steps")


def _add_checking(add: Callable[[str, Command, str, str], Parser]) -> None:
    sub = add("exercises", exercises, "List the exercises.", "labkit exercises --json")
    sub.add_argument("--json", action="store_true", help="as one JSON list")
    sub = add("check", check, "Prove an answer against every crash point.", "labkit check retry answer.py")
    sub.add_argument("id", metavar="ID", help="an exercise of `labkit exercises`")
    sub.add_argument("file", type=folder, nargs="?", metavar="FILE", help="default: the notebook in the work folder")
    sub.add_argument("--json", action="store_true", help="as one JSON object")
    sub.add_argument("--engine", choices=("sweep", "interleave", "search", "kill"), help=ENGINES)
    sub.add_argument("--database", choices=("sqlite", "postgres"), help="only this database")
    sub = add("replay", replay, "Run one failure again.", "labkit replay 'retry.third_time/memory:p1@cloud1.after+crash' answer.py")
    sub.add_argument("token", metavar="TOKEN", help="as a check printed it; a lesson's token is replayed in its notebook")
    sub.add_argument("file", type=folder, nargs="?", metavar="FILE", help="default: the notebook in the work folder")
    sub = add("hint", hint, "Show a hint: 1 is a nudge, 3 is nearly there.", "labkit hint retry 2")
    sub.add_argument("id", metavar="ID", help="an exercise of `labkit exercises`")
    sub.add_argument("level", type=count, nargs="?", default=1, metavar="LEVEL", help="default: 1")


def _add_working(add: Callable[[str, Command, str, str], Parser]) -> None:
    sub = add(
        "worker", worker, "Work on the tasks of a queue until SIGTERM or Ctrl-C.",
        "labkit worker --database-url sqlite:///tasks.db --app shop.jobs:handlers",
    )  # fmt: skip
    sub.epilog = f"{JOBS}\n{sub.epilog}"
    sub.add_argument("--database-url", required=True, metavar="URL", help="sqlite:///FILE or postgresql://...")
    sub.add_argument("--app", required=True, metavar="MODULE:NAME", help="a function of a job, or a dict of them by first word")
    sub.add_argument("--workers", type=threads, default=1, metavar="N", help=f"threads, each with a task, up to {MOST_WORKERS} (default: 1)")
    sub.add_argument("--lease", type=seconds, default=60.0, metavar="S", help="seconds until the task of a dead worker is taken by another (default: 60)")
    sub.add_argument("--grace", type=seconds, default=30.0, metavar="S", help="seconds to finish in when told to stop (default: 30)")
    sub = add(
        "serve", serve, "Take tasks over HTTP, and show their progress on a page, until SIGTERM or Ctrl-C.",
        "labkit serve --database-url sqlite:///tasks.db",
    )  # fmt: skip
    sub.epilog = f"{ADDRESSES}\n{sub.epilog}"
    sub.add_argument("--database-url", required=True, metavar="URL", help="sqlite:///FILE or postgresql://...")
    sub.add_argument("--host", default="127.0.0.1", metavar="HOST", help="default: 127.0.0.1, which other machines cannot see")
    sub.add_argument("--port", type=free_port, default=8000, metavar="PORT", help="0 for any free port (default: 8000)")
    sub.add_argument("--name", action="append", default=[], metavar="NAME", help="a further name under which it is reached, without port; may be repeated")
    sub.add_argument(
        "--token", default=os.environ.get("LABKIT_TOKEN", ""), metavar="TEXT",
        help="what requests must know; needed where other machines can see the server (default: LABKIT_TOKEN)",
    )  # fmt: skip
    sub.add_argument("--max-open", type=count, default=4000, metavar="N", help="connections at once; the next ones get 503 (default: 4000)")
    sub.add_argument(
        "--allow-webhook", action="append", default=[], metavar="NET",
        help="a network that webhooks may reach though it is not public, as 10.1.0.0/16; may be repeated",
    )  # fmt: skip
    sub = add(
        "mcp", mcp, "Share the states of agents over the Model Context Protocol: stdio, or HTTP on this machine.",
        "labkit mcp --database-url sqlite:///tasks.db --http 8765",
    )  # fmt: skip
    sub.add_argument("--database-url", required=True, metavar="URL", help="sqlite:///FILE or postgresql://...")
    sub.add_argument("--http", type=free_port, metavar="PORT", help="listen at http://127.0.0.1:PORT/mcp, 0 for any free port (default: stdio)")


def _add_teaching(add: Callable[[str, Command, str, str], Parser]) -> None:
    sub = add("release", release, "Make the learners' notebooks from the masters.", "labkit release solutions")
    sub.add_argument("dir", type=folder, metavar="DIR", help="the folder of the masters")
    sub.add_argument("--out", type=folder, metavar="DIR", help="where to write (default: `exercises` beside DIR)")
    sub.add_argument("--check", action="store_true", help="write nothing; exit 1 when something would change")
    sub = add("grade", grade, "Grade a class: DIR/<learner>/... or DIR/<learner>__<exercise>.ipynb.", "labkit grade returned --out report")
    sub.add_argument("dir", type=folder, metavar="DIR", help="the folder with what the learners returned; it is only read")
    sub.add_argument("--out", type=folder, required=True, metavar="DIR", help="where the report goes; one that is not finished there is gone on with")
    sub.add_argument("--masters", type=folder, default=Path("solutions"), metavar="DIR", help="default: solutions")
    sub.add_argument("--seed", type=count, default=1, metavar="N", help="of the second run; keep it to yourself until all have returned (default: 1)")
    sub.add_argument("--isolation", default="", metavar="LEVEL", help="process, user or namespace; (default: the strongest here)")
    sub.add_argument("--jobs", type=jobs, metavar="N", help="learners at once (default: one per processor)")
    sub.add_argument("--database", choices=("sqlite", "postgres"), help="only this database (default: both)")
    sub = add("lint", lint, "Look whether a course's masters, release and corpus are fit to be handed out.", "labkit lint")
    sub.add_argument("dir", type=folder, nargs="?", default=Path(), metavar="DIR", help="the folder that holds `solutions` and `exercises` (default: here)")
    add("doctor", doctor, "Show what of this machine labkit can use, and what to do where something is missing.", "labkit doctor")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    ready_streams()
    try:
        try:
            arguments = build().parse_args(argv)
            code: int = arguments.run(arguments)
            return code
        finally:
            sys.stdout.flush()  # subtle: here a stream that takes nothing more is an error like any other, at the exit a traceback
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        let_go_of_stdout()
        return PIPE_CLOSED
    except ModuleNotFoundError as error:
        if (error.name or "labkit").partition(".")[0] == "labkit":
            raise
        return _complain(f"labkit: {error.name} is not installed here; in the checkout: python -m pip install '.[all]'")
    except (UsageError, StoreBusy) as error:
        return _complain(f"labkit: {error}")
    except LabkitError as error:  # subtle: before OSError, since a timeout of ours is both
        return _complain(f"labkit failed: {type(error).__name__}: {error} (what you typed is not to blame)")
    except OSError as error:
        return _complain(f"labkit: {f'{error.filename}: {error.strerror}' if error.filename else error}")


def _complain(message: str) -> int:
    """Say it in one line on stderr; 2 is the exit code."""
    with suppress(OSError):  # the exit code says it too
        print(" ".join(message.split()), file=sys.stderr, flush=True)
    return 2
