import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type RegistryReader, type WebPage, WebPages } from '@nodekeep/plugin-sdk'
import { type WebPageSubject, webPageConformance } from '@nodekeep/plugin-sdk/conformance/web-page'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'

const browser = needsChromium ? null : await startChromium(t)

/** Opens an address in a profile of its own; nothing without a browser. */
const opening: Pick<WebPageSubject, 'open'> =
  browser === null
    ? {}
    : {
        async open(url) {
          const context = await browser.newContext()
          await (await context.newPage()).goto(url)
          return () => context.close()
        },
      }

let pages: RegistryReader<WebPage> | undefined
const capture = definePlugin({
  id: 'captures-pages',
  requires: { found: WebPages },
  setup({ found }) {
    pages = found
  },
})
const plugins = {
  files: true,
  ipfs: true,
  'storage-local': true,
  ai: true,
  wasm: true,
  'wasm-native': true,
  previews: true,
  search: true,
  webdav: true,
  web: true,
  who: { from: '../../examples/page-plugin' },
}
const node = await createTestNode({ config: { plugins }, plugins: [capture], folder: import.meta.dirname })
t.teardown(() => node.stop())
const owner = await node.signIn('owner')

for (const [name, page] of pages ?? []) {
  t.test(`the page "${name}"`, async (t) => {
    webPageConformance(t.test, {
      setUp: async () => ({ name, page, fetch: owner.fetch, ...opening }),
    })
  })
}

t.test('all pages were tried', async (t) => {
  const own = [
    'files',
    'photos',
    'chat',
    'links',
    'trash',
    'node',
    'published',
    'wasm',
    'account',
    'connect-app',
  ]
  t.strictSame(pages?.names(), [...own, 'who'])
})

/** Pages with one fault each, and the test that finds it. `page` is the argument of the function. */
const mutants: readonly (readonly [fault: string, foundBy: RegExp, body: string])[] = [
  ['It shows nothing.', /shows something/, ''],
  [
    'It shows something only once.',
    /shows something/,
    'if (!window.shown) element.append("x"); window.shown = 1',
  ],
  ['It throws.', /shows something/, 'element.append("x"); throw new Error("broken")'],
  [
    'It does not bear an answer that says that its plugin does not run.',
    /shows something/,
    'element.append("x"); page.fetch("/api/notes").then((answer) => answer.json()).then(({ notes }) => notes.length)',
  ],
  [
    'It does not bear another place.',
    /shows something/,
    'element.append("x"); page.onPlace((at) => at.notes.length)',
  ],
  ['It returns a promise.', /returns nothing/, 'element.append("x"); return Promise.resolve()'],
  ['It makes HTML of a text.', /Content-Security-Policy/, 'element.innerHTML = "<b>x</b>"'],
  [
    'It has styles of its own.',
    /Content-Security-Policy/,
    'element.append("x"); element.setAttribute("style", "color: red")',
  ],
  [
    'It loads a picture from another host.',
    /Content-Security-Policy/,
    'element.append(Object.assign(new Image(), { src: "http://127.0.0.2:9/a.png" }))',
  ],
  [
    'It asks another host.',
    /Content-Security-Policy/,
    'element.append("x"); fetch("http://127.0.0.2:9/").catch(() => {})',
  ],
  [
    'It leaves a dialog.',
    /leaves nothing/,
    'element.append("x"); document.body.append(document.createElement("dialog"))',
  ],
  [
    'It leaves a listener.',
    /leaves nothing/,
    'element.append("x"); window.addEventListener("resize", () => element.id)',
  ],
  ['It leaves a timer.', /leaves nothing/, 'element.append("x"); setInterval(() => element.id, 1e6)'],
]

/** A correct page: everything ends with it, by its own function or by a signal. */
const tidy = `
const { signal, signedOut } = page
const dialog = document.createElement('dialog')
document.body.append(dialog)
const timer = setInterval(() => {}, 1e6)
const resized = () => {}
window.addEventListener('resize', resized, true)
document.addEventListener('keydown', () => {}, { signal })
window.addEventListener('beforeunload', () => {}, { signal: signedOut })
window.onlyOnce ??= window.addEventListener('online', () => {}) ?? true
page.onPlace(() => {})
page.fetch('/api/notes').then(() => element.append(page.user.username))
return () => {
  dialog.remove()
  clearInterval(timer)
  window.removeEventListener('resize', resized, true)
}`

t.test(
  'the suite finds the fault of each page, and none of a correct one',
  { skip: needsChromium },
  async (t) => {
    const outcomesOf = async (body: string, matching = /(?:)/) => {
      const folder = await mkdtemp(join(tmpdir(), 'nodekeep-page-'))
      t.teardown(() => rm(folder, { recursive: true }))
      await writeFile(join(folder, 'page.js'), `export default function mount(element, page) {\n${body}\n}\n`)
      const failed: string[] = []
      const page = { title: 'Notes', folder, module: 'page.js' }
      const running: Promise<unknown>[] = []
      const register = (name: string, run: (context: { skip(): void }) => Promise<void>) => {
        if (!matching.test(name)) return
        running.push(run({ skip: () => failed.push(`${name} (skipped)`) }).catch(() => failed.push(name)))
      }
      webPageConformance(register, { setUp: async () => ({ name: 'notes', page, ...opening }) })
      await Promise.all(running)
      return failed
    }
    t.strictSame(await outcomesOf(tidy), [])
    for (const [fault, foundBy, body] of mutants) t.not((await outcomesOf(body, foundBy)).length, 0, fault)
  },
)
