import { networkInterfaces } from 'node:os'
import t, { test } from 'tap'
import { commandFolder } from './fixtures/nodekeep.ts'
import { startedNode } from './fixtures/started-node.ts'

// The tests run concurrently, because they mostly wait for the start of a node.
t.jobs = 3

test('a node that listens on all addresses prints those of its networks, and warns of plain HTTP', async (t) => {
  const folder = await commandFolder(t)
  const node = await startedNode(t, { cwd: folder.path, args: ['--host', '0.0.0.0', '--port', '0'] })
  const banner = node.stderr()
  const { port } = node.url
  t.ok(banner.includes(`Address  http://127.0.0.1:${port}\n`), 'as before it opened to its networks')
  const known = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  for (const { address } of known.filter(({ internal, family }) => !internal && family === 'IPv4'))
    t.ok(banner.includes(`           http://${address}:${port}\n`), address)
  t.notMatch(banner, 'localhost')
  t.match(banner, /Warning {2}The node speaks plain HTTP[\s\S]*"server.publicUrl"[\s\S]*"server.hostnames"/)
})

test('a node with a public URL prints it first, and does not warn if it has TLS', async (t) => {
  const publicUrl = ['https://cloud.example', 'http://nas.local:8080']
  const folder = await commandFolder(t, { server: { host: '::1', publicUrl } })
  const node = await startedNode(t, { cwd: folder.path, args: ['--port', '0'] })
  const [first, ...others] = [...publicUrl, node.url.origin]
  t.ok(
    node
      .stderr()
      .includes([`Address  ${first}\n`, ...others.map((other) => `           ${other}\n`)].join('')),
  )
  t.notMatch(node.stderr(), 'Warning')
})

test('on a terminal, the banner is the only message about the start, and tells an owner who has pages to open them', async (t) => {
  const folder = await commandFolder(t, {
    // The node takes sign-ins at a name of its network, so it does not ask for one.
    server: { host: '0.0.0.0', hostnames: ['nas.local'] },
    plugins: { 'login-siwe': true, web: true },
    auth: { owner: '0x1111111111111111111111111111111111111111' },
  })
  const node = await startedNode(t, { cwd: folder.path, args: ['--port', '0'], terminal: true })
  t.equal((await fetch(new URL('/health', node.url))).status, 200)
  t.equal(node.stdout(), '')
  t.match(node.stderr(), `Open ${node.url.origin}`)
  t.match(node.stderr(), 'Warning  The node speaks plain HTTP')
  t.notMatch(node.stderr(), 'server.hostnames')
  t.equal((await node.end('SIGINT')).code, 0)
  t.match(node.stdout(), /INFO: The node is stopping\./, 'the log is for people')
})

test('a node with pages prints a link to claim it', async (t) => {
  const folder = await commandFolder(t, { plugins: { 'login-siwe': true, web: true } })
  const node = await startedNode(t, { cwd: folder.path, args: ['--port', '0'] })
  const [, origin, code = ''] = /^ {15}(http:\S+)\/#claim=(\S+)$/m.exec(node.stderr()) ?? []
  t.equal(origin, node.url.origin)
  t.match(node.stderr(), new RegExp(`^ {15}${code}$`, 'm'), 'the code alone')
  t.notOk(node.stdout().includes(code), 'the log does not contain the claim code')
})
