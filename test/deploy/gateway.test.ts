import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { findProgram, needsPrograms } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { freePort } from '../free-ports.ts'
import { createAuthority } from '../overlay/fixtures/authority.ts'
import { knownNode } from '../overlay/fixtures/known-node.ts'
import { startGateway, startTunnelNode } from '../overlay/fixtures/tunnel.ts'
import { root } from '../run/command.ts'
import { changed } from './proxies.ts'

const name = 'me.example.org'
/** Linux has a whole network of loopback addresses, so client and proxy can have different ones. */
const clientAddress = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1'
/** The module of nginx, where it is not built in. */
const streamModule = '/usr/lib/nginx/modules/ngx_stream_module.so'

const readRecipe = (file: string) => readFile(join(root, 'examples/gateway', file), 'utf8')

interface Ports {
  /** Where the proxy listens for clients. */
  readonly proxy: number
  readonly gateway: number
  readonly sites: number
}

interface Recipe {
  readonly skip: string | false
  /** @returns the arguments of the program */
  write(folder: string, ports: Ports): Promise<string[]>
}

const recipes: Readonly<Record<string, Recipe>> = {
  nginx: {
    skip: needsPrograms('nginx') || needsStreamModule(),
    async write(folder, { proxy, gateway, sites }) {
      const recipe = changed(await readRecipe('nginx.conf'), {
        'listen 443;': `listen 127.0.0.1:${proxy};`,
        '127.0.0.1:8443': `127.0.0.1:${gateway}`,
        'default      127.0.0.1:9443': `default 127.0.0.1:${sites}`,
      })
      const file = join(folder, 'nginx.conf')
      const module = existsSync(streamModule) ? `load_module ${streamModule};` : ''
      await writeFile(file, `${module}\ndaemon off;\npid ${folder}/nginx.pid;\nevents {}\n${recipe}`)
      return ['-p', folder, '-c', file, '-e', join(folder, 'error.log')]
    },
  },
  haproxy: {
    skip: needsPrograms('haproxy'),
    async write(folder, { proxy, gateway, sites }) {
      const recipe = changed(await readRecipe('haproxy.cfg'), {
        'bind :443': `bind 127.0.0.1:${proxy}`,
        '127.0.0.1:8443': `127.0.0.1:${gateway}`,
        '127.0.0.1:9443': `127.0.0.1:${sites}`,
      })
      const file = join(folder, 'haproxy.cfg')
      await writeFile(file, recipe)
      return ['-db', '-f', file]
    },
  },
}

function needsStreamModule(): string | false {
  const { stderr } = spawnSync(findProgram('nginx') ?? 'nginx', ['-V'], { encoding: 'utf8' })
  if (existsSync(streamModule) || /--with-stream(\s|$)/.test(stderr)) return false
  return 'This test needs the module "stream" of nginx.'
}

for (const [program, { skip, write }] of Object.entries(recipes)) {
  test(`the recipe for ${program} in front of a gateway`, { skip }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-gateway-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const { gateway: recipe } = JSON.parse(await readRecipe('behind-proxy.json'))
    const { dataFolder, nodeId } = await knownNode(t)
    const gateway = await startGateway(t, {
      gateway: {
        domain: 'example.org',
        names: { me: nodeId },
        ...recipe,
        https: { ...recipe.https, port: await freePort() },
      },
    })
    const authority = await createAuthority()
    const pair = await authority.issue({ names: [name] })
    await writeFile(join(folder, 'cert.pem'), pair.cert)
    await writeFile(join(folder, 'key.pem'), pair.key)
    const { log } = await startTunnelNode(t, gateway, {
      dataFolder,
      plugins: [probe],
      tunnel: { name },
      config: { overlay: { tls: { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') } } },
    })
    await log.line(/^Clients reach the node at https:/)
    const sites = await startSites(t)
    const ports = { proxy: await freePort(), gateway: gateway.httpsPort, sites: sites.port }
    await run(t, program, await write(folder, ports), ports.proxy)

    const ask = async (path: string, { host = name, body = '' } = {}) => {
      const asked = request({
        host: '127.0.0.1',
        port: ports.proxy,
        localAddress: clientAddress,
        agent: false,
        servername: host,
        ca: authority.root,
        path,
        method: body === '' ? 'GET' : 'POST',
        headers: { host },
      }).end(body)
      const [answer] = await once(asked, 'response')
      return text(answer)
    }
    t.equal(await ask('/probe/address'), clientAddress, 'the node sees the address of the client')
    t.equal((await ask('/probe/large')).length, 50_000_000, 'a large answer arrives whole')
    const large = 'x'.repeat(5_000_000)
    t.equal(await ask('/probe/length', { body: large }), '5000000', 'and so does a large request')
    await t.rejects(ask('/', { host: 'you.example.org' }), { message: /unrecognized name/ })
    const isVisited = sites.next()
    await t.rejects(ask('/', { host: 'www.example.net' }), 'the other sites end TLS themselves')
    t.match(await isVisited, new RegExp(clientAddress.replaceAll('.', String.raw`\.`)))
  })
}

test('the unit for systemd starts a gateway with the configuration of the recipe', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-gateway-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const unit = changed(await readRecipe('nodekeep-gateway.service'), {
    '/usr/bin/node': process.execPath,
    '/opt/nodekeep': root.replace(/\/$/, ''),
    '/etc/nodekeep-gateway': folder,
    '/var/cache/nodekeep-gateway': join(folder, 'cache'),
  })
  const recipe = changed(await readRecipe('gateway.json'), {
    '/var/lib/nodekeep-gateway': join(folder, 'data'),
  })
  await writeFile(join(folder, 'gateway.json'), recipe)
  const values = (key: string) =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value ?? '')
  const env = {
    ...Object.fromEntries(values('Environment').map((setting) => setting.split('=', 2))),
    PATH: process.env.PATH,
    // Ports that an ordinary account may use.
    PORT: '0',
    NODEKEEP_GATEWAY__CONTROL: JSON.stringify({ host: '127.0.0.1', port: 0 }),
    NODEKEEP_GATEWAY__HTTP: JSON.stringify({ host: '127.0.0.1', port: 0 }),
    NODEKEEP_GATEWAY__HTTPS: JSON.stringify({ host: '127.0.0.1', port: 0 }),
    NODEKEEP_GATEWAY__PORTS__RANGE: '',
  }
  t.match(env, { NODEKEEP_SUPERVISED: 'true' })
  const [program = '', ...args] = (values('ExecStart')[0] ?? '').split(' ')
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let output = ''
  for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += chunk
    if (output.includes('The node is ready.')) break
  }
  t.match(output, /The gateway takes nodes/)
  child.stdout.resume()
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
})

test('systemd accepts the unit of a gateway', { skip: needsPrograms('systemd-analyze') }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-gateway-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'nodekeep-gateway.service')
  const unit = changed(await readRecipe('nodekeep-gateway.service'), {
    '/usr/bin/node': process.execPath,
    'User=nodekeep-gateway': 'User=daemon',
    'file:/opt/nodekeep': `file:${root.replace(/\/$/, '')}`,
  })
  await writeFile(file, unit)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  const findings = stderr.split('\n').filter((line) => line.includes('nodekeep-gateway.service'))
  t.same({ status, findings }, { status: 0, findings: [] })
})

/** A plugin that shows how requests and answers travel. */
const probe = definePlugin({
  id: 'probe',
  setup({ routes }) {
    const config = { access: 'public', publicReason: 'It is there for a test.' } as const
    routes((app) => {
      app.addContentTypeParser('*', async (_request: unknown, payload: AsyncIterable<Buffer>) => {
        let length = 0
        for await (const chunk of payload) length += chunk.length
        return length
      })
      app.get('/probe/address', { config }, async ({ ip }) => ip)
      app.get('/probe/large', { config }, async () => 'x'.repeat(50_000_000))
      app.post('/probe/length', { config: { ...config, body: 'stream' } }, async ({ body }) => String(body))
    })
  },
})

/** The other sites behind the proxy: they hear the address of the client, and close. */
async function startSites(t: Test) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', (bytes: Buffer) => {
      server.emit('visit', addressIn(bytes))
      socket.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
    next: async () => String((await once(server, 'visit'))[0]),
  }
}

/** Reads the address of the client in a header of the PROXY protocol, version 1 or 2 for IPv4. */
function addressIn(bytes: Buffer): string {
  const [, , address = ''] = bytes.toString('latin1').split(' ', 3)
  return bytes[0] === 0x0d ? bytes.subarray(16, 20).join('.') : address
}

/** Runs a proxy until the end of the test. Resolves when it listens. */
async function run(t: Test, program: string, args: readonly string[], port: number): Promise<void> {
  const child = spawn(findProgram(program) ?? program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect({ port, host: '127.0.0.1' })
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`The proxy ended:\n${output}`)
}
