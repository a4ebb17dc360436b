import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import type { Order } from '../../../src/certificates/acme/protocol.ts'
import { createAuthority } from '../fixtures/authority.ts'

const module = new URL('../../../src/certificates/acme/order-certificate.ts', import.meta.url).href

test('an order ends with the node, however the node ends', async (t) => {
  const authority = await createAuthority()
  // An authority that never answers.
  const server = createServer(await authority.issue({ names: ['localhost'] }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const order: Order = {
    name: 'me.example.org',
    directory: `https://localhost:${(server.address() as AddressInfo).port}/dir`,
    ca: authority.root,
    email: null,
    accountKey: 'none',
  }
  const program = `
    const { orderCertificate } = await import(${JSON.stringify(module)})
    await orderCertificate(${JSON.stringify(order)}, () => {}, new AbortController().signal)`
  const args = ['--conditions=nodekeep-source', '--input-type=module', '--eval', program]
  const node = spawn(process.execPath, args, { stdio: 'ignore' })
  t.teardown(() => node.kill('SIGKILL'))
  const [request] = await once(server, 'request')
  // The end of a process may also reset its connections.
  request.socket.on('error', () => {})
  const isOver = new Promise((resolve) => request.socket.once('close', resolve))
  node.kill('SIGKILL')
  await isOver
  t.pass('the connection to the authority is closed')
})
