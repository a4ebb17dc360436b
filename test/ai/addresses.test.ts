import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { startAiNode } from './fixtures/ai-node.ts'
import { chat } from './fixtures/chat.ts'

let connections = 0
const elsewhere = createServer((socket) => {
  connections += 1
  socket.destroy()
})
elsewhere.listen(0, '127.0.0.1')
await once(elsewhere, 'listening')
t.teardown(() => elsewhere.close())
const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
const { node, wires } = await startAiNode(t)

t.test('a request that contains an address is refused', async (t) => {
  const ada = await node.signIn()
  const image = { type: 'image', url: `${url}/secret.png` }
  for (const wire of wires) {
    for (const field of ['baseURL', 'base_url', 'host', 'url', 'endpoint', 'apiKey', 'headers', 'proxy']) {
      const answer = await chat(ada, wire, { [field]: url })
      t.equal(answer.status, 400, `${wire.provider}: ${field}`)
    }
    for (const content of [[image], [{ type: 'image_url', image_url: { url } }], { url }]) {
      t.equal((await chat(ada, wire, { messages: [{ role: 'user', content }] })).status, 400)
    }
    t.equal(wire.server.chats(), 0, 'the server got no chat')
  }
})

t.test('a provider is only a name of the configuration', async (t) => {
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
    const answer = await chat(ada, { ...wire, provider })
    t.equal(answer.status, 404, provider)
    t.match(await answer.json(), { code: 'NOT_FOUND' }, provider)
  }
})

t.test('a model reaches the server as text and is never part of an address', async (t) => {
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
      await chat(ada, { ...wire, model })
      t.equal(wire.server.chats(), before + 1, `${wire.provider}: ${model}`)
      t.equal(wire.server.received()?.model, model)
    }
  }
})

t.test('the node does not follow a redirect of a server', async (t) => {
  const ada = await node.signIn()
  for (const wire of wires) {
    const before = wire.server.chats()
    wire.server.play({ kind: 'redirect', location: url })
    for (const stream of [true, false]) {
      const answer = await chat(ada, wire, { stream })
      t.equal(answer.status, 502, wire.provider)
      t.match(await answer.json(), {
        code: 'UPSTREAM_ERROR',
        message: /has moved.*owner of the node must correct ai-/,
      })
    }
    t.equal(wire.server.chats(), before + 2, `${wire.provider}: the node does not try again`)
  }
  t.equal(connections, 0)
})

t.test('a text may contain an address, which the node does not request', async (t) => {
  const ada = await node.signIn()
  for (const wire of wires) {
    wire.server.play({ kind: 'reply', text: [`Look at ${url}`, '.'], finish: 'stop' })
    const messages = [{ role: 'user', content: `What is at ${url}? ![](${url}/a.png)` }]
    t.equal((await chat(ada, wire, { messages })).status, 200)
  }
  t.equal(connections, 0)
})
