import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { ask } from './fixtures/asking.ts'
import { startStand } from './fixtures/stand.ts'

let connections = 0
const elsewhere = createServer((socket) => {
  connections += 1
  socket.destroy()
})
elsewhere.listen(0, '127.0.0.1')
await once(elsewhere, 'listening')
t.teardown(() => elsewhere.close())
const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
const { node, wires } = await startStand(t)

t.test('a request that names an address is refused', async (t) => {
  const ada = await node.signIn()
  const image = { type: 'image', url: `${url}/secret.png` }
  for (const wire of wires) {
    for (const field of ['baseURL', 'base_url', 'host', 'url', 'endpoint', 'apiKey', 'headers', 'proxy']) {
      const answer = await ask(ada, wire, { [field]: url })
      t.equal(answer.status, 400, `${wire.provider}: ${field}`)
    }
    for (const content of [[image], [{ type: 'image_url', image_url: { url } }], { url }]) {
      t.equal((await ask(ada, wire, { messages: [{ role: 'user', content }] })).status, 400)
    }
    t.equal(wire.server.chats(), 0, 'nobody was asked')
  }
})

t.test('a provider is a name of the configuration, and nothing else', async (t) => {
  const ada = await node.signIn()
  const [wire] = wires
  if (wire === undefined) return
  for (const provider of [
    url,
    'openai/../ollama',
    'OpenAI',
    '__proto__',
    'constructor',
    'toString',
    ' openai',
  ]) {
    const answer = await ask(ada, { ...wire, provider })
    t.equal(answer.status, 404, provider)
    t.match(await answer.json(), { code: 'NOT_FOUND' }, provider)
  }
})

t.test('a model is a word for the server, never a part of an address', async (t) => {
  const ada = await node.signIn()
  for (const wire of wires) {
    for (const model of [
      url,
      `${url}/v1`,
      '../../admin',
      '..%2fadmin',
      '//127.0.0.1',
      '?x=1#y',
      'a\r\nhost: b',
      '@b',
    ]) {
      const before = wire.server.chats()
      await ask(ada, { ...wire, model })
      t.equal(wire.server.chats(), before + 1, `${wire.provider}: ${model}`)
      t.equal(wire.server.received()?.model, model)
    }
  }
})

t.test('a server that sends the node elsewhere is not followed', async (t) => {
  const ada = await node.signIn()
  for (const wire of wires) {
    const before = wire.server.chats()
    wire.server.play({ kind: 'redirect', location: url })
    for (const stream of [true, false]) {
      const answer = await ask(ada, wire, { stream })
      t.equal(answer.status, 502, wire.provider)
      t.match(await answer.json(), {
        code: 'UPSTREAM_ERROR',
        message: /has moved.*owner of the node must correct ai-/,
      })
    }
    t.equal(wire.server.chats(), before + 2, `${wire.provider}: nothing is tried again`)
  }
  t.equal(connections, 0)
})

t.test('a text may hold an address, which nobody visits', async (t) => {
  const ada = await node.signIn()
  for (const wire of wires) {
    wire.server.play({ kind: 'reply', text: [`Look at ${url}`, '.'], finish: 'stop' })
    const messages = [{ role: 'user', content: `What is at ${url}? ![](${url}/a.png)` }]
    t.equal((await ask(ada, wire, { messages })).status, 200)
  }
  t.equal(connections, 0)
})
