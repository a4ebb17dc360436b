import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { changed } from '../deploy/proxies.ts'
import { acmePrograms, startAcmeServer } from '../overlay/fixtures/acme-server.ts'
import { outcome, root, startTool } from '../run/command.ts'
import { runNode } from './fixtures/run-node.ts'

const example = (file: string) => readFile(join(root, 'examples/gateway', file), 'utf8')
const loopback = '127.0.0.1'

test('the walk from a laptop to https://me.example.org works as written', {
  skip: needsPrograms('curl', ...acmePrograms),
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-walk-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const page = await example('README.md')
  const walk = /^## From a laptop.*?(?=^## )/ms.exec(page)?.[0] ?? ''
  const commands = [...walk.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].flatMap(([, block = '']) =>
    block.trim().split(/\n\s*/),
  )
  const [install, copy, startNode, check = '', signIn = '', ...others] = commands
  t.same([install, copy, startNode], ['npm ci', 'cp examples/gateway/node.json nodekeep.json', 'npm start'])
  t.same(others, [], 'this test runs all commands of the walk')

  // The gateway of the recipe, on ports that an ordinary account may use.
  const gatewayFile = join(folder, 'gateway.json')
  await writeFile(
    gatewayFile,
    changed(await example('gateway.json'), { '/var/lib/nodekeep-gateway': join(folder, 'gateway') }),
  )
  const gateway = runNode(t, ['--config', gatewayFile], {
    PORT: '0',
    NODEKEEP_GATEWAY__CONTROL: JSON.stringify({ host: loopback, port: 0 }),
    NODEKEEP_GATEWAY__HTTP: JSON.stringify({ host: loopback, port: 0 }),
    NODEKEEP_GATEWAY__HTTPS: JSON.stringify({ host: loopback, port: 0, publicPort: 443 }),
    NODEKEEP_GATEWAY__PORTS__RANGE: '',
  })
  const { control, https } = await gateway.line(/^The gateway takes nodes/)
  const { port: controlPort } = control as AddressInfo
  const { port: httpsPort } = https as AddressInfo
  const [, gatewayId = ''] = /is (\w+)\.$/.exec(String((await gateway.line(/^The gateway takes/)).msg)) ?? []

  // The node, with an authority of this test.
  const authority = await startAcmeServer(t, httpsPort)
  const nodeFile = join(folder, 'nodekeep.json')
  await writeFile(
    nodeFile,
    changed(await example('node.json'), {
      '"gateway": "example.org"': `"gateway": "${loopback}:${controlPort}"`,
      THE_ID_THAT_THE_GATEWAY_PRINTS: gatewayId,
    }),
  )
  const node = runNode(t, ['--config', nodeFile], {
    PORT: '0',
    NODEKEEP_DATA: join(folder, 'node'),
    NODEKEEP_OVERLAY__ACME__DIRECTORY: authority.directory,
    NODEKEEP_OVERLAY__ACME__CA: authority.ca,
  })
  for (const [, line = ''] of walk.matchAll(/`((?:The|Clients)[^`…]*me\.example\.org[^`…]*\.)`/g)) {
    t.ok(await node.line(new RegExp(`^${line.replaceAll('.', '\\.')}$`)), line)
  }

  // A client anywhere, for which the names of the walk lead to the gateway.
  const rootFile = join(folder, 'root.pem')
  await writeFile(rootFile, await authority.issuer())
  const internet = await openInternet(t, { 'me.example.org:443': httpsPort })
  const client = {
    HTTPS_PROXY: internet,
    https_proxy: internet,
    NODE_USE_ENV_PROXY: '1',
    NODE_EXTRA_CA_CERTS: rootFile,
    CURL_CA_BUNDLE: rootFile,
  }
  const [, state = ''] = /The answer has `(.*?)`/.exec(walk) ?? []
  const asked = await outcome(startTool('sh', ['-c', check], client))
  t.ok(asked.output.includes(state), asked.output)

  const [claim = ''] = /\b[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(node.output()) ?? []
  const command = changed(signIn, { '7GQ4-2MXK-91RT': claim, 'wallet.key': join(folder, 'wallet.key') })
  const signedIn = await outcome(startTool('sh', ['-c', command], client))
  t.ok(signedIn.ok, signedIn.output)
  t.match(signedIn.output, /"authenticated": true/)
})

/** Opens a proxy (RFC 9110, section 9.3.6) at which names have ports of this machine. */
async function openInternet(t: Test, ports: Readonly<Record<string, number>>): Promise<string> {
  const sockets = new Set<Socket>()
  const proxy = createServer().on('connect', ({ url = '' }, near: Socket) => {
    const far = connect(ports[url] ?? 0, loopback)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    near.write('HTTP/1.1 200 OK\r\n\r\n')
    near.pipe(far).pipe(near)
  })
  proxy.listen(0, loopback)
  await once(proxy, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  return `http://${loopback}:${(proxy.address() as AddressInfo).port}`
}
