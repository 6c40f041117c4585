'use strict'

// The page of the web chat. The bot's side of the conversation is a stream of
// letters, numbered by the outbox. The user's lines are kept by the browser, each
// with the number of the letter it came after, so that a reload shows them in
// their place. Everything is shown as text, in elements made here, never as markup.

const $ = id => document.getElementById(id)
const log = $('log'), form = $('form'), input = $('text')

const keep = 200 // lines
const prefix = 'botmesh.webchat.'

let session = null // {chat, post}
let stream = null
let last = 0 // number of the last letter shown
const messages = new Map() // {box} by id; an edit has an id of its own, and is the same message
let lines = [] // {id, text, after, state, payload?, sig?, of?}
let sending = Promise.resolve() // posts go one after the other

// --- session ---

// open begins or resumes the session; fresh leaves the old one behind.
async function open(fresh) {
  state('connecting')
  if (stream) stream.close()
  stream = null
  for (let wait = 1000; ; wait = Math.min(2 * wait, 15000)) {
    try {
      const answer = await ask('webchat/session' + (fresh ? '?new' : ''))
      if (answer.ok) {
        enter(await answer.json())
        return
      }
      state('offline', answer.status === 403 ? 'refused: ' + await reason(answer) : undefined)
    } catch { // not reachable: again
      state('offline')
    }
    await pause(wait)
  }
}

function enter(s) {
  if (!session || session.chat !== s.chat) {
    last = 0
    messages.clear()
    log.querySelectorAll('.said').forEach(e => e.remove())
    lines = load(s.chat)
    lines.forEach(show)
  }
  session = s
  $('new').hidden = false
  $('hint').hidden = log.querySelector('.said') !== null
  lines.filter(l => l.state === 'waiting' && !l.queued).forEach(send)
  listen()
}

// --- the bot's side ---

function listen() {
  const chat = session.chat
  if (stream) stream.close()
  const mine = stream = new EventSource(`webchat/events?chat=${chat}&after=${last}`)
  mine.onopen = () => state('online')
  mine.onmessage = e => {
    const seq = Number(e.lastEventId)
    if (seq <= last || session.chat !== chat) return
    last = seq
    for (const part of JSON.parse(e.data).parts) showPart(seq, part)
  }
  mine.onerror = async () => {
    state('offline')
    // A stream that broke comes back by itself. One that was refused does not.
    if (mine.readyState !== EventSource.CLOSED) return
    await pause(3000 + 2000 * Math.random())
    if (stream === mine) open(false)
  }
}

function showPart(seq, part) {
  const box = bubble('bot', ...words(part))
  if (part.media) attach(box, part)
  for (const row of part.buttons || []) {
    const div = box.appendChild(element('div', 'row'))
    for (const b of row) {
      const button = div.appendChild(element('button', '', b.label))
      button.type = 'button'
      button.onclick = () => say(b.label, {payload: b.payload, sig: b.sig, of: part.id})
    }
  }
  const message = messages.get(part.replaces) || {}
  messages.set(part.id, message)
  if (part.replaces) messages.set(part.replaces, message)
  const before = message.box
  message.box = box
  if (!before) return place(box, seq, 0)
  Object.assign(box.dataset, before.dataset)
  before.replaceWith(box)
}

// attach shows a file: an image as one, all others as a link.
function attach(box, part) {
  const {kind, url, name} = part.media
  if (!/^https?:\/\//i.test(url)) return
  const link = anchor(url, 'file', name || url)
  if (kind === 'image' || kind === 'sticker') {
    const image = element('img', 'image')
    image.alt = name || kind
    image.referrerPolicy = 'no-referrer'
    image.onload = () => { if (box === log.lastElementChild) log.scrollTop = log.scrollHeight }
    image.onerror = () => link.replaceChildren(name || url)
    link.replaceChildren(image)
    image.src = url
  }
  const text = box.querySelector('.bubble')
  text.before(link)
  if (!part.text) text.remove()
}

// --- the user's side ---

function say(text, press) {
  const line = {id: newID(), text, after: last, state: 'waiting', ...press}
  lines.push(line)
  save()
  show(line)
  log.scrollTop = log.scrollHeight
  send(line)
}

function show(line) {
  const box = bubble('user', line.text)
  box.id = 'line-' + line.id
  box.append(element('p', 'note'))
  mark(box, line)
  place(box, line.after, 1)
}

function mark(box, line) {
  box.classList.toggle('waiting', line.state === 'waiting')
  box.classList.toggle('failed', line.state === 'failed')
  box.querySelector('.note').textContent = line.state === 'failed' ? 'not sent: ' + line.why : line.late ? 'waiting for the connection' : ''
}

function settle(line, changes) {
  change(line, changes)
  save()
}

function change(line, changes) {
  Object.assign(line, changes)
  const box = $('line-' + line.id)
  if (box) mark(box, line)
}

// send posts a line until it is taken or refused. Its id stays the same, so a
// line that was taken though no answer came is not said twice.
function send(line) {
  line.queued = true
  const {chat, post} = session
  sending = sending.then(async () => {
    for (let wait = 1000; session.chat === chat; wait = Math.min(2 * wait, 15000)) {
      const fields = {chat, id: line.id}
      if (line.payload === undefined) fields.text = line.text
      else Object.assign(fields, {payload: line.payload, sig: line.sig, of: line.of})
      let after = wait
      try {
        const answer = await ask(post, new URLSearchParams(fields))
        if (answer.ok) return settle(line, {state: 'sent', late: false})
        if (answer.status < 500 && answer.status !== 408 && answer.status !== 429) {
          return settle(line, {state: 'failed', why: await reason(answer)})
        }
        after = Math.max(wait, 1000 * Number(answer.headers.get('Retry-After')) || 0)
      } catch { /* not reachable: again */ }
      settle(line, {late: true})
      await pause(after)
    }
  })
}

async function reason(answer) {
  return (await answer.text()).replace(/^webchat: /, '').trim()
}

// --- what the browser keeps ---

function load(chat) {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(prefix) && key !== prefix + chat) localStorage.removeItem(key)
    }
    return JSON.parse(localStorage.getItem(prefix + chat)) || []
  } catch {
    return [] // nothing can be kept here: the bot's side is shown all the same
  }
}

function save() {
  try {
    const kept = lines.slice(-keep).map(({queued, late, ...line}) => line)
    localStorage.setItem(prefix + session.chat, JSON.stringify(kept))
  } catch { /* as above */ }
}

// --- showing ---

// place puts a bubble where it belongs: after what has its number, letters
// before lines.
function place(box, seq, kind) {
  const near = log.scrollHeight - log.scrollTop - log.clientHeight < 80
  box.dataset.seq = seq
  box.dataset.kind = kind
  let before = log.lastElementChild
  while (before && before.dataset.seq !== undefined &&
    (Number(before.dataset.seq) > seq || Number(before.dataset.seq) === seq && Number(before.dataset.kind) > kind)) {
    before = before.previousElementSibling
  }
  if (before) before.after(box)
  else log.prepend(box)
  $('hint').hidden = true
  if (near) log.scrollTop = log.scrollHeight
}

function bubble(who, ...nodes) {
  const box = element('div', 'said ' + who), text = element('p', 'bubble')
  text.append(...nodes)
  box.append(element('span', 'unseen', who === 'bot' ? 'Bot: ' : 'You: '), text)
  return box
}

// words are a part's text as nodes: its stretches in their styles, or the text alone.
function words(part) {
  return part.runs ? part.runs.map((run, i) => styled(run, i > 0 && part.runs[i - 1].pre)) : [part.text]
}

const styles = {code: 'code', pre: 'code', bold: 'strong', italic: 'em', strike: 's'}

// styled is a stretch in its styles. Lines of code are a block, after which the line is new.
function styled(run, afterBlock) {
  let node = document.createTextNode(afterBlock ? run.text.replace(/^\n/, '') : run.text)
  for (const style in styles) {
    if (!run[style]) continue
    const outer = element(styles[style], style)
    outer.append(node)
    node = outer
  }
  if (!run.url || !/^(https?:\/\/|mailto:|tel:)/i.test(run.url)) return node
  const link = anchor(run.url)
  link.append(node)
  return link
}

// anchor leads to another page, which learns nothing of this one.
function anchor(url, style = '', text) {
  const link = element('a', style, text)
  link.href = url
  link.target = '_blank'
  link.rel = 'noopener noreferrer'
  return link
}

function element(name, style, text) {
  const e = document.createElement(name)
  e.className = style
  if (text !== undefined) e.textContent = text
  return e
}

function state(word, text = word) {
  $('state').dataset.state = word
  $('state').textContent = text
}

// ask posts, and does not wait for ever.
const ask = (address, body) => fetch(address, {method: 'POST', body, signal: AbortSignal.timeout(10000)})

const pause = ms => new Promise(done => setTimeout(done, ms))

// newID works where crypto.randomUUID does not: on a page without TLS.
function newID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('')
}

// --- the form ---

form.onsubmit = e => {
  e.preventDefault()
  const text = input.value.trim()
  if (!text || !session) return
  say(text)
  input.value = ''
  input.oninput()
  input.focus()
}

input.oninput = () => {
  $('send').disabled = input.value.trim() === ''
  if (CSS.supports('field-sizing', 'content')) return
  input.style.height = 'auto'
  input.style.height = input.scrollHeight + 2 + 'px'
}

input.onkeydown = e => {
  if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
    e.preventDefault()
    form.requestSubmit()
  }
}

$('new').onclick = () => {
  if (confirm('Leave this conversation and begin a new one?')) open(true)
}

// Another tab of the same session said something. It sends that itself.
window.onstorage = e => {
  if (!session || e.key !== prefix + session.chat || e.newValue === null) return
  for (const line of JSON.parse(e.newValue)) {
    const known = lines.find(l => l.id === line.id)
    if (known) {
      change(known, {state: line.state, why: line.why})
    } else {
      line.queued = true
      lines.push(line)
      show(line)
    }
  }
}

open(false)
