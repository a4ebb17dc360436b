import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'

let node: TestNode
let ada: TestUser

const page = '<script>document.title = "ran"</script>'

/** Files that a browser would run if it opened them by the type of their name. */
const active = [
  'x.html',
  'x.htm',
  'x.xhtml',
  'x.svg',
  'x.svgz',
  'x.xml',
  'x.xsl',
  'x.js',
  'x.mjs',
  'x.pdf',
  'x.mhtml',
  'x.swf',
  'x.css',
  'x.json',
  'x',
  'x.unknown',
  'html',
  '.html',
]

/** Files that a browser only shows. */
const passive = ['x.png', 'x.JPG', 'x.webp', 'x.mp4', 'x.mp3', 'x.txt', 'x.html.txt']

t.before(async () => {
  node = await createFilesNode()
  ada = await node.signIn()
})
t.teardown(() => node.stop())

t.test('stored pages cannot act as the node', async (t) => {
  for (const name of [...active, ...passive]) {
    await put(ada, `/${name}`, page, { 'content-type': 'text/html' })
    const whole = await get(ada, 'read', `/${name}`)
    const part = await get(ada, 'read', `/${name}`, { headers: { range: 'bytes=0-' } })
    for (const { headers } of [whole, part]) {
      const policy = headers.get('content-security-policy') ?? ''
      t.match(policy, /(^|; )default-src 'none'(;|$)/, `${name}: the policy loads and runs nothing`)
      t.match(policy, /(^|; )sandbox(;|$)/, `${name}: the policy allows no origin, no scripts and no forms`)
      t.equal(
        headers.get('cross-origin-resource-policy'),
        'same-origin',
        `${name}: for the node's own pages only`,
      )
      t.equal(headers.get('x-content-type-options'), 'nosniff', `${name}: its type is that of its name`)
      const disposition = active.includes(name) ? /^attachment/ : /^inline/
      t.match(headers.get('content-disposition'), disposition, `${name} is ${disposition}`)
    }
    await Promise.all([whole.body?.cancel(), part.body?.cancel()])
  }
})

t.test('a page cannot run a stored file', async (t) => {
  await put(ada, '/code.js', 'document.title = "ran"')
  const status = async (dest: string) => {
    const answer = await get(ada, 'read', '/code.js', { headers: { 'sec-fetch-dest': dest } })
    if (answer.ok) await answer.body?.cancel()
    else t.match(await answer.json(), { error: true, code: 'FORBIDDEN' })
    return answer.status
  }
  for (const dest of ['script', 'worker', 'sharedworker', 'serviceworker', 'audioworklet', 'style'])
    t.equal(await status(dest), 403, dest)
  for (const dest of ['empty', 'document', 'image', 'audio', 'video', 'track', 'font'])
    t.equal(await status(dest), 200, dest)
})

t.test('the type of a file follows from its name, not from its upload', async (t) => {
  const types: [string, string][] = [
    ['a.txt', 'text/plain; charset=utf-8'],
    ['a.md', 'text/markdown; charset=utf-8'],
    ['a.html', 'text/html; charset=utf-8'],
    ['a.PNG', 'image/png'],
    ['a.tar.gz', 'application/gzip'],
    ['a.wasm', 'application/wasm'],
    ['a', 'application/octet-stream'],
    ['a.', 'application/octet-stream'],
    ['png', 'application/octet-stream'],
    ['.png', 'application/octet-stream'],
  ]
  for (const [name, type] of types) {
    await put(ada, `/types/${name}`, 'x', { 'content-type': 'image/gif' })
    t.equal((await get(ada, 'read', `/types/${name}`)).headers.get('content-type'), type, name)
  }
})
