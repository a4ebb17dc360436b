import { readdir, readlink } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { definePlugin, NodekeepError, Previews } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { unzipSync } from 'fflate'
import t, { test } from 'tap'
import { call, createShareNode, link, put, send, shareOf } from '../fixtures/share-node.ts'

t.jobs = 3

/** Previews of the folder `/many` that are asked for at a time, and the most of them. They are made once the test says so. */
const asked = { now: 0, most: 0, turn: Promise.withResolvers<void>() }
const slowPreviews = definePlugin({
  id: 'slow-previews',
  provides: { previews: Previews },
  setup: () => ({
    previews: {
      async get({ path }) {
        if (!path.startsWith('/many/')) throw new NodekeepError('NOT_FOUND', 'There is none.')
        asked.now += 1
        asked.most = Math.max(asked.most, asked.now)
        await asked.turn.promise
        asked.now -= 1
        return Buffer.from('small')
      },
      isPicture: (name) => /\.(?:jpg|png)$/.test(name),
    },
  }),
})

const node = await createShareNode({ plugins: [slowPreviews] })
t.teardown(() => node.stop())

const pageOf = async (path: string, init: RequestInit = {}) => {
  const answer = await node.fetch(path, init)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}
const file = (path: string, below: string, init: RequestInit = {}) =>
  node.fetch(`${path}/file?path=${encodeURIComponent(below)}`, init)

test('a guest reads a folder without a script', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/trip/Grüße <b>.txt', 'Hello.')
  await put(ada, '/trip/day one/b.txt', 'b')
  await put(ada, '/secret.txt', 'secret')
  const { path, id } = await link(ada, '/trip')
  const { status, text, headers } = await pageOf(path)
  t.equal(status, 200)
  t.match(text, '<bdi>Grüße &lt;b&gt;.txt</bdi>')
  t.match(text, '<bdi>day one</bdi>')
  t.notMatch(text, '<script')
  t.notMatch(text, 'secret.txt')
  t.match(Object.fromEntries(headers), {
    'content-type': /^text\/html/,
    'content-security-policy': /^default-src 'none'/,
    'referrer-policy': 'no-referrer',
    'x-robots-tag': /noindex/,
    'x-content-type-options': 'nosniff',
    'cache-control': /no-store/,
  })
  const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
  for (const href of links.filter((href) => href.startsWith(path)))
    t.equal((await node.fetch(href)).status, 200, href)
  t.match((await pageOf(`${path}?path=/day+one`)).text, '<bdi>b.txt</bdi>')
  t.match((await pageOf(`${path}/view?path=/day+one/b.txt`)).text, 'Back to the folder')
  t.match((await pageOf(`${path}?view=grid`)).text, 'class="tiles shared"')

  t.equal(await (await file(path, '/Grüße <b>.txt')).text(), 'Hello.')
  t.match(await shareOf(ada, id), { used: { downloads: Number, bytes: Number } })
})

test('a shared file has a page of its own', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/notes/a.txt', 'Hello.')
  const { path } = await link(ada, '/notes/a.txt')
  const { text } = await pageOf(path)
  t.match(text, 'a.txt')
  t.notMatch(text, 'notes')
  t.match(text, />Hello\.<\/pre>/)
  t.match(text, /This link works until \w+ \d+, \d{4}\./)
  t.equal(await (await file(path, '')).text(), 'Hello.')
  t.equal((await file(path, '/a.txt')).status, 404)
  t.equal((await node.fetch(`${path}/zip`)).status, 404)
})

test('a page shows a text, escaped, and nothing that is none or too large', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/texts/a.md', '<script>0</script>')
  await put(ada, '/texts/zero.txt', 'a\0b')
  await put(ada, '/texts/large.log', 'a'.repeat(1_000_001))
  await put(ada, '/texts/packet.xml', '<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>')
  const { path, id } = await link(ada, '/texts')
  t.match((await pageOf(`${path}/view?path=/a.md`)).text, '>&lt;script&gt;0&lt;/script&gt;</pre>')
  const refused = await pageOf(`${path}/view?path=/packet.xml`)
  t.match(refused.text, '>Download</a>', 'what links do not send has a page, too')
  t.notMatch(refused.text, '<pre')
  for (const name of ['zero.txt', 'large.log']) {
    const { text } = await pageOf(`${path}/view?path=/${name}`)
    t.notMatch(text, '<pre')
    t.match(text, '>Open</a>')
  }
  const { uses } = (await (
    await ada.fetch(`/api/shares/${id}/uses`)
  ).json()) as NodeAnswers['GET /api/shares/{id}/uses']
  t.match(uses, [{ kind: 'download', bytes: 18 }], 'a text that a guest has read is a use')
  t.equal(uses.length, 1)
})

test('a file goes out with ranges and conditions, and never runs as the node', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/f/page.html', '<script>0</script>')
  const { path } = await link(ada, '/f')
  const answer = await file(path, '/page.html')
  t.match(Object.fromEntries(answer.headers), {
    'content-length': '18',
    'content-disposition': /^attachment/,
    'content-security-policy': /sandbox/,
    'x-content-type-options': 'nosniff',
    'x-robots-tag': /noindex/,
    'referrer-policy': 'no-referrer',
    etag: /^"[\w-]{32}"$/,
  })
  const etag = answer.headers.get('etag') ?? ''
  const part = await file(path, '/page.html', { headers: { range: 'bytes=1-6' } })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), 'bytes 1-6/18')
  t.equal(await part.text(), 'script')
  t.equal((await file(path, '/page.html', { headers: { range: 'bytes=18-' } })).status, 416)
  t.equal((await file(path, '/page.html', { headers: { 'if-none-match': etag } })).status, 304)
  const stale = { range: 'bytes=1-6', 'if-range': '"other"' }
  t.equal((await file(path, '/page.html', { headers: stale })).status, 200)
  t.equal((await file(path, '/page.html', { headers: { 'sec-fetch-dest': 'script' } })).status, 403)
  const head = await file(path, '/page.html', { method: 'HEAD' })
  t.equal(head.headers.get('content-length'), '18')
  await put(ada, '/f/page.html', 'other')
  t.equal((await file(path, '/page.html', { headers: { 'if-none-match': etag } })).status, 200)
})

test('all of a folder is one archive', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/all/a.txt', 'a')
  await put(ada, '/all/deep/er/b.txt', 'b')
  await put(ada, '/all/broken.jpg', 'no picture')
  const { path } = await link(ada, '/all')
  const contentOf = async (query: string) => {
    const answer = await node.fetch(`${path}/zip${query}`)
    t.equal(answer.headers.get('content-type'), 'application/zip')
    const unpacked = unzipSync(new Uint8Array(await answer.arrayBuffer()))
    return Object.fromEntries(
      Object.entries(unpacked).map(([name, bytes]) => [name, String(Buffer.from(bytes))]),
    )
  }
  t.match(await contentOf(''), {
    'all/a.txt': 'a',
    'all/deep/er/b.txt': 'b',
    'all/Left out.txt': /^all\/broken\.jpg: The picture is damaged/,
  })
  t.notOk('all/broken.jpg' in (await contentOf('')))
  t.strictSame(Object.keys(await contentOf('?path=/deep')).sort(), ['deep/er/', 'deep/er/b.txt'])
})

test('a guest who leaves in the middle of an archive leaves no file open', {
  skip: process.platform !== 'linux' && 'only Linux tells which files are open',
}, async () => {
  const ada = await node.signIn()
  const name = 'left-in-the-middle.bin'
  await put(ada, `/large/${name}`, Buffer.alloc(48 * 1024 * 1024))
  const openFiles = async () => {
    const descriptors = await readdir('/proc/self/fd')
    const paths = await Promise.all(
      // Others are closed meanwhile.
      descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
    )
    return paths.filter((path) => path.endsWith(name))
  }
  const { path } = await link(ada, '/large')
  const leave = new AbortController()
  const answer = await node.fetch(`${path}/zip`, { signal: leave.signal })
  await answer.body?.getReader().read()
  while ((await openFiles()).length === 0) await delay(20)
  leave.abort()
  while ((await openFiles()).length > 0) await delay(20)
})

test('nothing outside of the folder is reached, and all refusals are alike', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/open/a.txt', 'a')
  await put(ada, '/openly/secret.txt', 'secret')
  await put(ada, '/secret.txt', 'secret')
  const { path } = await link(ada, '/open')
  const outside = [
    '/../secret.txt',
    'ly/secret.txt',
    '/..',
    '/./a.txt',
    '//a.txt',
    '/a.txt/',
    '\\..\\secret.txt',
    '/a.txt/x',
    '/\0',
    '/none',
  ]
  const missing = (await pageOf(`${path}/file?path=/none`)).text
  for (const below of outside)
    for (const action of ['', '/view', '/file', '/zip', '/preview']) {
      const { status, text } = await pageOf(`${path}${action}?path=${encodeURIComponent(below)}`)
      t.equal(status, 404, `${action} ${below}`)
      t.equal(text, missing, `${action} ${below}`)
    }
})

test('links that do not work are alike', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a/a.txt', 'a')
  const revoked = await link(ada, '/a')
  await ada.fetch(`/api/shares/${revoked.id}`, { method: 'DELETE' })
  const gone = await link(ada, '/a')
  await call(ada, 'POST', '/delete', { path: '/a' })
  await put(ada, '/b/a.txt', 'b')
  const old = await link(ada, '/b', { expires: new Date(Date.now() + 4000).toISOString() })
  while ((await pageOf(old.path)).status === 200) await delay(100)
  const unknown = await pageOf(`/s/${'A'.repeat(43)}`)
  t.equal(unknown.status, 404)
  t.match(unknown.headers.get('x-robots-tag'), /noindex/)
  const forms = [
    revoked.path,
    gone.path,
    old.path,
    `${old.path}/file?path=/a.txt`,
    '/s/x',
    `/s/${'é'.repeat(300)}`,
    `${revoked.path}/file?path=/a.txt`,
    `${gone.path}/zip`,
  ]
  for (const address of forms) {
    const { status, text } = await pageOf(address)
    t.equal(status, 404, address)
    t.equal(text, unknown.text, address)
  }
})

test('a password is asked for, and a cookie of this link alone remembers it', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/p/a.txt', 'a')
  const { path, id } = await link(ada, '/p', { password: 'right' })
  const other = await link(ada, '/p', { password: 'right' })
  const enter = (address: string, password: string) =>
    node.fetch(`${address}/password`, {
      method: 'POST',
      body: new URLSearchParams({ password }),
      redirect: 'manual',
    })
  for (const action of ['', '/file?path=/a.txt', '/zip', '/view?path=/a.txt']) {
    const { status, text } = await pageOf(`${path}${action}`)
    t.equal(status, 401, action)
    t.match(text, 'This link has a password')
    t.notMatch(text, 'a.txt')
  }
  t.match(await (await enter(path, 'wrong')).text(), 'not the password')
  const entered = await enter(path, 'right')
  t.equal(entered.status, 303)
  t.equal(entered.headers.get('location'), path)
  const set = entered.headers.get('set-cookie') ?? ''
  t.match(set, new RegExp(`; Path=${path}; Max-Age=\\d+; HttpOnly; SameSite=Lax$`))
  const cookie = set.split(';')[0] ?? ''
  t.equal((await file(path, '/a.txt', { headers: { cookie } })).status, 200)
  t.equal((await file(other.path, '/a.txt', { headers: { cookie } })).status, 401, 'another link')
  const later = cookie.replace(/=\d+/, (until) => `=${Number(until.slice(1)) + 1}`)
  t.equal((await file(path, '/a.txt', { headers: { cookie: later } })).status, 401, 'a forged end')
  await send(ada, 'PATCH', `/api/shares/${id}`, { password: 'another' })
  t.equal((await file(path, '/a.txt', { headers: { cookie } })).status, 401, 'another password')
  await send(ada, 'PATCH', `/api/shares/${id}`, { password: null })
  t.equal((await file(path, '/a.txt')).status, 200)
})

test('guests of a link wait for few previews at a time', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/many/a.jpg', 'a')
  const { path } = await link(ada, '/many')
  const answers = Array.from({ length: 20 }, () => node.fetch(`${path}/preview?path=/a.jpg`))
  while (asked.now < 8) await delay(20)
  // Requests that came with it would have asked by its answer.
  t.equal((await node.fetch(`${path}/view?path=/a.jpg`)).status, 200)
  asked.turn.resolve()
  for (const answer of answers) t.equal(await (await answer).text(), 'small')
  t.equal(asked.most, 8)
})

test('the stylesheet and the script of the pages are there', async (t) => {
  t.match((await node.fetch('/s/-/shares.css')).headers.get('content-type'), /^text\/css/)
  t.match((await node.fetch('/s/-/drop.js')).headers.get('content-type'), /javascript/)
})
