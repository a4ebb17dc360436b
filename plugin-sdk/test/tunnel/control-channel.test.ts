import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { mock } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  ControlChannel,
  type GatewayMessage,
  maxLineBytes,
  type NodeMessage,
  readGatewayMessage,
  readNodeMessage,
  writeLine,
} from '@nodekeep/plugin-sdk/tunnel'
import { type Test, test } from 'tap'

/** Two ends of a TCP connection. */
async function socketPair(t: Test): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connect({ port, host: '127.0.0.1' })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => {
    client.destroy()
    accepted.destroy()
    server.close()
  })
  return [client, accepted]
}

/** The node's end of a channel. */
function nodeEnd(socket: Socket) {
  const messages: GatewayMessage[] = []
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<string>()
  const arrived: (() => void)[] = []
  const channel = new ControlChannel<NodeMessage, GatewayMessage>(socket, {
    read: readGatewayMessage,
    onMessage(message) {
      messages.push(message)
      arrived.shift()?.()
    },
    onEnd,
  })
  const next = () => new Promise<void>((resolve) => arrived.push(resolve))
  return { channel, messages, ended, next }
}

function gatewayEnd(socket: Socket) {
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<string>()
  const messages: NodeMessage[] = []
  const channel = new ControlChannel<GatewayMessage, NodeMessage>(socket, {
    read: readNodeMessage,
    onMessage: (message) => messages.push(message),
    onEnd,
  })
  return { channel, messages, ended }
}

test('messages arrive in order, in whatever pieces', async (t) => {
  const [near, far] = await socketPair(t)
  const { messages, channel } = nodeEnd(near)
  t.teardown(() => channel.close())
  const sent: GatewayMessage[] = [
    { type: 'welcome', port: 20_000, urls: ['https://xn--bcher-kva.example.org'] },
    {
      type: 'reachability',
      url: 'https://me.example.org',
      reachable: false,
      reason: 'Zertifikat ungültig: größer als erlaubt.',
    },
    { type: 'dial', count: 2 },
  ]
  for (const byte of Buffer.from(sent.map(writeLine).join(''))) far.write(Uint8Array.of(byte))
  while (messages.length < sent.length) await delay(1)
  t.same(messages, sent)
})

test('each side answers the other', async (t) => {
  const [near, far] = await socketPair(t)
  const node = nodeEnd(near)
  const gateway = gatewayEnd(far)
  t.ok(await gateway.channel.answersWithin(2000))
  t.ok(await node.channel.answersWithin(2000))
  t.same(node.messages, [], 'no other message')
  gateway.channel.close({ type: 'stopping' })
  t.match(await node.ended, /closed/)
  t.same(node.messages, [{ type: 'stopping' }], 'the last message arrives before the end')
  t.notOk(await node.channel.answersWithin(1), 'after the end, nobody answers')
})

test('a side that is silent does not answer', async (t) => {
  const [near] = await socketPair(t)
  const { channel } = nodeEnd(near)
  t.notOk(await channel.answersWithin(50))
  channel.close()
})

for (const [name, bytes] of [
  ['a line that is no message', 'GET / HTTP/1.1\r\n'],
  ['an unknown message', '{"type":"dance"}\n'],
  ['a message that is not valid', '{"type":"dial","count":-1}\n'],
  ['a line that is too long', `{"type":"ping","x":"${'x'.repeat(maxLineBytes)}"}\n`],
  ['a line without an end', 'x'.repeat(maxLineBytes + 1)],
] as const) {
  test(`${name} ends the channel`, async (t) => {
    const [near, far] = await socketPair(t)
    far.on('error', () => {})
    const { ended, messages } = nodeEnd(near)
    far.write(`${bytes}{"type":"stopping"}\n`)
    t.match(await ended, /^The other side sent a line/)
    t.same(messages, [])
    t.ok(near.destroyed)
  })
}

test('a side that does not read is given up', async (t) => {
  const [near, far] = await socketPair(t)
  far.pause()
  const { channel, ended } = gatewayEnd(near)
  const urls = Array.from({ length: 10 }, () => `https://${'x'.repeat(200)}`)
  const flood = setInterval(() => {
    for (let at = 0; at < 1000; at += 1) channel.send({ type: 'welcome', port: 0, urls })
  }, 1)
  t.match(await ended, /does not read/)
  clearInterval(flood)
})

test('silence is noticed within 10 seconds, and pings prevent it', async (t) => {
  const [near, far] = await socketPair(t)
  const [liveNear, liveFar] = await socketPair(t)
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { ended } = nodeEnd(near)
  far.resume()
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  const lively = nodeEnd(liveNear)
  gatewayEnd(liveFar)
  /** Lets 4 s pass, after which both sides of the other channel have heard a ping. */
  const passPing = async () => {
    const heard = [once(liveNear, 'data'), once(liveFar, 'data')]
    mock.timers.tick(4000)
    await Promise.all(heard)
  }
  await passPing()
  await passPing()
  mock.timers.tick(999)
  await new Promise(setImmediate)
  t.notOk(hasEnded, 'a pause is no loss')
  mock.timers.tick(1)
  t.match(await ended, /silent for 9 s/)
  for (let seconds = 0; seconds < 12; seconds += 4) await passPing()
  t.ok(await lively.channel.answersWithin(1000), 'the other channel goes on')
  lively.channel.close()
})
