// The page: what tasks there are comes by asking every two seconds, what a task tells comes by itself over server-sent events.
// A browser keeps six connections to one server, so only the newest running tasks are followed live; the list shows the others.
"use strict";

const LIVE = 4;
const PERSON = "a person"; // the tool of an update that is a question
const ENDS = new Set(["completed", "error"]);
const ENDED = new Set(["completed", "failed", "cancelled"]);
const WORDS = {
  pending: "waiting for a worker", running: "running", waiting: "waits for a person",
  completed: "completed", failed: "failed", cancelled: "cancelled",
};
const cards = new Map();   // task id -> its card
const streams = new Map(); // task id -> its EventSource
const byId = (id) => document.getElementById(id);

function cardOf(task) {
  if (cards.has(task.id)) return cards.get(task.id);
  const card = byId("card").content.firstElementChild.cloneNode(true);
  const find = (name) => card.querySelector("." + name);
  card.dataset.id = task.id;
  find("input").textContent = task.user_input;
  card.querySelector("progress").setAttribute("aria-label", "Progress of " + task.user_input);
  find("cancel").setAttribute("aria-label", "Cancel " + task.user_input);
  find("cancel").onclick = () => control(task.id, { action: "cancel", reason: "cancelled on the page" });
  const reason = () => find("reason").value;
  const question = () => card.dataset.question;
  find("approve").onclick = () => control(task.id, { action: "approve", question: question() });
  find("refuse").onclick = () => control(task.id, { action: "refuse", reason: reason(), question: question() });
  find("answer").onclick = () => control(task.id, { action: "answer", text: reason(), question: question() });
  find("question").onsubmit = (event) => event.preventDefault();
  cards.set(task.id, card);
  return card;
}

function show(task) {
  const card = cardOf(task);
  const find = (name) => card.querySelector("." + name);
  if (card.dataset.state && card.dataset.state !== task.state) say(task.user_input + ": " + WORDS[task.state]);
  card.dataset.state = task.state;
  find("state").textContent = WORDS[task.state];
  find("who").textContent = task.state === "running"
    ? "worker " + task.worker_id + ", attempt " + task.attempt
    : "priority " + task.priority + (task.attempt > 1 ? ", " + task.attempt + " attempts" : "");
  find("cancel").disabled = ENDED.has(task.state);
  const bar = card.querySelector("progress");
  if (task.state === "completed") { bar.value = 1; find("now").textContent = task.result || ""; }
  if (task.state === "failed" || task.state === "cancelled") { bar.value = bar.value || 0; find("now").textContent = task.error || ""; }
  bar.hidden = task.state === "waiting";
  if (task.state === "waiting") ask(task.id); else find("question").hidden = true;
  return card;
}

async function ask(id) {
  const task = await get("/api/tasks/" + encodeURIComponent(id));
  const card = cards.get(id);
  if (!task || !task.question || card.dataset.state !== "waiting") return;
  card.dataset.question = task.question;
  card.querySelector(".asked").textContent = task.question;
  card.querySelector(".question").hidden = false;
}

function told(card, event) {
  const update = JSON.parse(event.data);
  const bar = card.querySelector("progress");
  if (update.total_step > 0) bar.value = Math.min(1, update.step / update.total_step);
  else if (!ENDED.has(card.dataset.state)) bar.removeAttribute("value");
  const asks = update.status === "thinking" && update.tool === PERSON;
  const doing = asks ? "asks a person" : { thinking: "thinking", tool_call: "runs " + update.tool, tool_result: update.tool + " answered" }[update.status];
  if (doing) card.querySelector(".now").textContent = "step " + update.step + ": " + doing + (update.message && !asks ? " (" + update.message + ")" : "");
  const line = document.createElement("li");
  line.textContent = (doing || update.status) + (update.message ? ": " + update.message : "");
  card.querySelector(".log").append(line);
  if (ENDS.has(update.status)) close(card.dataset.id);
  if (asks || ENDS.has(update.status)) refresh();
}

function follow(tasks) {
  const going = tasks.filter((task) => !ENDED.has(task.state)).map((task) => task.id);
  const wanted = going.slice(0, LIVE);
  for (const id of going.slice(LIVE)) close(id);  // one that has ended is closed by its last event
  for (const id of wanted) {
    if (streams.has(id)) continue;
    const card = cards.get(id);
    card.querySelector(".log").replaceChildren();
    const stream = new EventSource("/api/progress?task_id=" + encodeURIComponent(id));
    stream.addEventListener("progress", (event) => told(card, event));
    stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) streams.delete(id); };  // else it comes back by itself, with its last id
    streams.set(id, stream);
  }
}

function close(id) {
  streams.get(id)?.close();
  streams.delete(id);
}

function control(id, message) {
  const socket = new WebSocket((location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/api/tasks/" + encodeURIComponent(id) + "/control");
  let replies = 0;
  socket.onopen = () => socket.send(JSON.stringify(message));
  socket.onerror = () => say("The server did not hear that. Try again.");
  socket.onmessage = (event) => {
    replies += 1;
    if (replies < 2) return;  // the first one is the task as it is
    const reply = JSON.parse(event.data);
    if (!reply.ok) say(reply.error);
    socket.close();
    refresh();
  };
}

async function get(path) {
  const answer = await fetch(path).catch(() => null);
  return answer && answer.ok ? answer.json() : null;
}

async function refresh() {
  const found = await get("/api/tasks");
  byId("connection").textContent = found ? "connected" : "no connection, trying again";
  if (!found) return;
  byId("none").hidden = found.tasks.length > 0;
  const list = byId("tasks");
  found.tasks.forEach((task, place) => {
    const card = show(task);
    if (list.children[place] !== card) list.insertBefore(card, list.children[place] || null);
  });
  follow(found.tasks);
}

function say(text) { byId("told").textContent = text; }

byId("submit").oninput = (event) => { delete event.currentTarget.dataset.key; };  // another text is another task

byId("submit").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  button.disabled = true;
  form.dataset.key ||= crypto.randomUUID ? crypto.randomUUID() : String(Math.random());  // pressed twice, or sent again: one task
  const answer = await fetch("/api/tasks", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": form.dataset.key },
    body: JSON.stringify({ user_input: form.user_input.value, priority: Number(form.priority.value) }),
  }).catch(() => null);
  button.disabled = false;
  const said = answer ? await answer.json().catch(() => ({})) : {};
  byId("submitted").textContent = answer && answer.ok ? "Submitted." : (said.error || "The server did not answer. Press Submit again: it will be one task.");
  if (!answer || !answer.ok) return;
  delete form.dataset.key;
  form.user_input.value = "";
  refresh();
};

refresh();
setInterval(refresh, 2000);
