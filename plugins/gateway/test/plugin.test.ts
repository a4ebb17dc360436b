import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import gateway from '../src/index.ts'

const host = '127.0.0.1'

function start(section: Readonly<Record<string, unknown>>, lines: string[] = []) {
  return createTestNode({
    plugins: [gateway],
    config: { gateway: { control: { host, port: 0 }, ports: { range: '' }, ...section } },
    onLog: (line) => lines.push(line),
  })
}

test('a gateway without a domain only listens for nodes, and tells its id', async (t) => {
  const lines: string[] = []
  const node = await start({}, lines)
  t.teardown(() => node.stop())
  t.match(node.plugins(), [{ id: 'gateway', state: 'active' }])
  const line = lines
    .map((text) => JSON.parse(text))
    .find(({ msg }) => msg.startsWith('The gateway takes nodes'))
  t.match(line, {
    gatewayId: /^[1-9A-HJ-NP-Za-km-z]{43,44}$/,
    control: { address: host },
    http: null,
    https: null,
  })
})

test('mistakes in the configuration are named', async (t) => {
  for (const [section, problem] of [
    [{ ports: { range: '30-20' } }, /"gateway\.ports\.range" must be two ports/],
    [{ ports: { range: 'all' } }, /gateway\.ports\.range/],
    [{ domain: 'not a domain' }, /gateway\.domain/],
    [
      { tls: { cert: '/nowhere.pem', key: '/nowhere.key' } },
      /"gateway\.tls": The certificate in .* does not exist/,
    ],
    [{ names: { 'Not A Name': 'x' } }, /gateway\.names/],
    [{ control: { host: '192.0.2.1', port: 0 } }, /The gateway cannot listen.*"gateway\.control"/],
  ] as const) {
    await t.rejects(start(section), problem)
  }
})
