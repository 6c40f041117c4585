// Runs page/chat.js without a browser: the events on standard input, a JSON array of
// them, come one after the other, and the texts of the bubbles go to standard output.
// Of the DOM there is only what showing needs.

import fs from 'node:fs'
import vm from 'node:vm'

class Element {
  children = []
  dataset = {}
  style = {}
  classList = {toggle() {}}
  append(...nodes) {
    for (const n of nodes) if (n instanceof Element) n.parent = this
    this.children.push(...nodes)
  }
  appendChild(node) { this.append(node); return node }
  put(at, gone, node) {
    node.parent = this
    this.children.splice(at, gone, node)
  }
  prepend(node) { this.put(0, 0, node) }
  after(node) { this.parent.put(this.parent.children.indexOf(this) + 1, 0, node) }
  replaceWith(node) {
    if (!this.parent) return // as of a browser: it is shown nowhere
    this.parent.put(this.parent.children.indexOf(this), 1, node)
    this.parent = null
  }
  get lastElementChild() { return this.children.at(-1) }
  get previousElementSibling() { return this.parent.children[this.parent.children.indexOf(this) - 1] }
  get textContent() { return this.children.map(c => c.textContent ?? c).join('') }
  set textContent(text) { this.children = [text] }
}

const fixed = {}
for (const id of ['log', 'form', 'text', 'state', 'new', 'hint', 'send']) fixed[id] = new Element()
const find = id => fixed[id] || fixed.log.children.find(c => c.id === id) || null
const page = vm.createContext({
  document: {getElementById: find, createElement: () => new Element(), createTextNode: text => text},
  window: {}, fetch: () => new Promise(() => {}), AbortSignal: {timeout() {}},
})
vm.runInContext(fs.readFileSync('page/chat.js', 'utf8') + '\n;globalThis.showPart = showPart', page)
const events = JSON.parse(fs.readFileSync(0, 'utf8'))
events.forEach((e, seq) => e.parts.forEach(part => page.showPart(seq, part)))
process.stdout.write(JSON.stringify(fixed.log.children.map(box => box.textContent)))
