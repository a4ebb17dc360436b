import { createTestNode, type TestNode, type TestNodeOptions } from '@nodekeep/kernel/testing'
import { definePlugin, Type, type WebPage, WebPages } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import web from '../src/index.ts'

/** A plugin with the given pages, whose files are in a folder of the test. */
function pagesPlugin(t: Test, entries: Readonly<Record<string, Partial<WebPage>>>) {
  const folder = t.testdir({
    page: { 'page.js': 'export default () => {}', '.hidden': 'no', deep: { 'dot.png': 'dot' } },
    secret: 'no',
  })
  return definePlugin({
    id: 'pages-test',
    description: 'Adds pages.',
    config: Type.Object({}),
    contributes: { pages: WebPages },
    setup({ pages }) {
      for (const [name, entry] of Object.entries(entries)) {
        pages.add(name, { title: name, folder: `${folder}/page`, module: 'page.js', ...entry })
      }
    },
  })
}

async function startNode(t: Test, options: TestNodeOptions) {
  const node = await createTestNode(options)
  t.teardown(() => node.stop())
  return node
}

t.test('the first page allows only files of the node', async (t) => {
  const node = await startNode(t, { plugins: [web] })
  const answer = await node.fetch('/')
  t.match(await answer.text(), /<script type="module" src="\/web\/shell.js">/)
  const policy = answer.headers.get('content-security-policy') ?? ''
  t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  t.match(policy, /manifest-src 'self'; worker-src 'self';/)
  t.match(policy, /frame-ancestors 'none'/)
  t.notMatch(policy, /unsafe|http|\*/)
  t.equal(answer.headers.get('referrer-policy'), 'no-referrer')
  for (const file of ['shell.js', 'shell.css', 'icon.svg']) {
    const { status, headers } = await node.fetch(`/web/${file}`)
    t.strictSame([status, headers.get('x-content-type-options')], [200, 'nosniff'])
    t.equal(headers.get('content-security-policy'), policy)
  }
  t.equal((await node.fetch('/', { method: 'HEAD' })).status, 200)
})

t.test('the pages can be installed as an app', async (t) => {
  const node = await startNode(t, { plugins: [web], config: { web: { name: 'Our home' } } })
  const document = await (await node.fetch('/')).text()
  const answer = await node.fetch('/web/manifest.webmanifest')
  t.match(answer.headers.get('content-type'), /^application\/manifest\+json/)
  const { name, icons, start_url, share_target } = (await answer.json()) as {
    name: string
    icons: { src: string; type: string; purpose?: string }[]
    start_url: string
    share_target: object
  }
  t.strictSame([name, start_url], ['Our home', '/'])
  t.match(share_target, { action: '/share', method: 'POST' })
  t.ok(icons.some(({ purpose }) => purpose === 'maskable'))
  const linked = /rel="apple-touch-icon" href="([^"]+)"/.exec(document)?.[1] ?? ''
  for (const { src, type } of [...icons, { src: linked, type: 'image/png' }]) {
    const { status, headers } = await node.fetch(src)
    t.strictSame([src, status, headers.get('content-type')], [src, 200, type])
  }
  const worker = await node.fetch('/service-worker.js')
  t.strictSame(
    [worker.status, worker.headers.get('content-type'), worker.headers.get('cache-control')],
    [200, 'text/javascript; charset=utf-8', 'no-cache'],
  )
})

t.test('a file is compressed for those who accept it, and has an entity tag', async (t) => {
  const node = await startNode(t, { plugins: [web] })
  const plain = await node.fetch('/web/shell.js', { headers: { 'accept-encoding': 'gzip;q=0, br' } })
  t.equal(plain.headers.get('content-encoding'), null)
  const zipped = await node.fetch('/web/shell.js', { headers: { 'accept-encoding': 'br, gzip' } })
  t.equal(zipped.headers.get('content-encoding'), 'gzip')
  t.equal(await zipped.text(), await plain.text())
  const etag = zipped.headers.get('etag') ?? ''
  const again = await node.fetch('/web/shell.js', { headers: { 'if-none-match': etag } })
  t.strictSame([again.status, await again.text()], [304, ''])
})

t.test('pages show to those who may see them, while the plugins that they need work', async (t) => {
  const pages = {
    all: { icon: 'star', place: 'side' as const },
    owners: { access: 'owner' as const },
    needy: { needs: ['gone'] },
  }
  const config = { web: { name: 'Our home' } }
  const node = await startNode(t, { plugins: [web, pagesPlugin(t, pages)], config })
  const [ada, owner] = [await node.signIn(), await node.signIn('owner')]
  const list = async (user: typeof ada) => {
    const answer = (await (await user.fetch('/api/web/pages')).json()) as {
      name: string
      pages: { name: string; icon: string | null; place: string }[]
    }
    t.equal(answer.name, 'Our home')
    return answer.pages
      .filter(({ name }) => Object.hasOwn(pages, name))
      .map(({ name, icon, place }) => `${name} ${icon} ${place}`)
  }
  t.strictSame(await list(ada), ['all star side'])
  t.strictSame(await list(owner), ['all star side', 'owners null more'])
  const status = async (user: typeof ada, path: string) => (await user.fetch(path)).status
  t.equal(await status(ada, '/pages/all/page.js'), 200)
  t.equal(await status(ada, '/pages/all/deep/dot.png'), 200)
  t.equal(await status(ada, '/pages/owners/page.js'), 404)
  t.equal(await status(owner, '/pages/owners/page.js'), 200)
  t.equal(await status(owner, '/pages/needy/page.js'), 404)
  t.equal((await node.fetch('/pages/all/page.js')).status, 401)
  for (const path of ['.hidden', '..%2Fsecret', 'deep', '', 'page.js/', 'deep//dot.png', 'a%00b'])
    t.equal(await status(ada, `/pages/all/${path}`), 404, path)
})

t.test('the owner names the node', async (t) => {
  const dataFolder = t.testdir({})
  const lines: string[] = []
  const options = {
    plugins: [web],
    config: { web: { name: 'Our home' } },
    dataFolder,
    logLevel: 'info' as const,
    onLog: (line: string) => lines.push(line),
  }
  const node = await createTestNode(options)
  const [ada, owner] = [await node.signIn(), await node.signIn('owner')]
  const give = async (user: typeof ada, name: unknown) => {
    const answer = await user.fetch('/api/web/name', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    })
    return [answer.status, Object(await answer.json()).name]
  }
  const namesOf = async (node: TestNode) => {
    const paths = ['/api/web/sign-in', '/web/manifest.webmanifest']
    const answers = await Promise.all(paths.map(async (path) => (await node.fetch(path)).json()))
    return answers.map((answer) => Object(answer).name)
  }
  t.strictSame(await give(ada, 'Mine'), [403, undefined])
  for (const wrong of ['', '  ', 'a'.repeat(41), 7, undefined])
    t.strictSame(await give(owner, wrong), [400, undefined])
  t.strictSame(await namesOf(node), ['Our home', 'Our home'])
  t.strictSame(await give(owner, ' Villa '), [200, 'Villa'])
  t.equal(Object(await (await ada.fetch('/api/web/pages')).json()).name, 'Villa')
  t.ok(lines.some((line) => line.includes('"node-named"')))
  await node.stop()

  const again = await startNode(t, options)
  t.strictSame(await namesOf(again), ['Villa', 'Villa'], 'a restart keeps the name')
  const sameOwner = await again.signIn('owner')
  t.strictSame(await give(sameOwner, null), [200, 'Our home'], 'the name of the configuration is back')
  t.strictSame(await namesOf(again), ['Our home', 'Our home'])
})

t.test('everybody can ask for the ways to sign in', async (t) => {
  const plugins = { 'login-siwe': true, 'login-code': true }
  const waysOf = async (node: TestNode) => (await node.fetch('/api/web/sign-in')).json()
  const node = await startNode(t, { plugins: [web], config: { plugins } })
  t.match(await waysOf(node), {
    name: 'Nodekeep',
    providers: { length: 2 },
    claimed: false,
    requests: false,
    restores: false,
  })
  t.strictSame(Object(await waysOf(node)).providers.sort(), ['code', 'siwe'])
  await node.signIn('owner')
  t.match(await waysOf(node), { claimed: true })

  const auth = { owner: `0x${'ab'.repeat(20)}` }
  const other = await startNode(t, {
    plugins: [web],
    config: { plugins: { 'access-requests': true }, auth },
    folder: import.meta.dirname,
  })
  t.match(await waysOf(other), { claimed: true, requests: true }, 'a configured owner counts')
})

t.test('a wrong page is refused where it is added', async (t) => {
  const wrong: [Partial<WebPage>, RegExp][] = [
    [{ title: '' }, /has no title with 1 to 40 characters/],
    [{ icon: 'Big star' }, /has an icon that is no name of small letters, digits and dashes/],
    [JSON.parse('{ "place": "top" }'), /has a place that is none of "tab", "side", "more" and "user"/],
    [{ folder: 'page' }, /does not name the absolute path of a folder/],
    [{ module: '../page.js' }, /does not name a module and a stylesheet within its folder/],
    [{ stylesheet: '/etc/passwd' }, /does not name a module and a stylesheet within its folder/],
    [JSON.parse('{ "access": "admin" }'), /has an access that is neither "user" nor "owner"/],
    [JSON.parse('{ "needs": "files" }'), /does not name the plugins that it needs in a list/],
  ]
  for (const [entry, reason] of wrong) {
    await t.rejects(createTestNode({ plugins: [web, pagesPlugin(t, { wrong: entry })] }), reason)
  }
})
