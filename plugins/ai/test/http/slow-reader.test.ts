import t from 'tap'
import { createAiNode } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { rawChat, unchunked } from '../fixtures/raw-chat.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'
import { untilStable } from '../fixtures/until-stable.ts'

const megabyte = 1024 * 1024

t.test('A client that does not read slows the provider down and fills no memory', async (t) => {
  const piece = 'x'.repeat(1000)
  const count = 12_000
  const acme = scripted(function* () {
    for (let n = 0; n < count; n += 1) yield text(piece)
    yield stop
  })
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const connection = await rawChat(node, ada, { stream: true })
  await connection.until(/"chunk"/)
  connection.socket.pause()
  const { last } = acme
  const waiting = await untilStable(() => last.asked)
  // The system buffers some megabytes for a connection on its two sides.
  t.ok(waiting * piece.length < 10 * megabyte, `The node took ${waiting} pieces.`)
  t.notOk(last.signal.aborted)
  connection.socket.resume()
  const answer = readEvents(unchunked(await connection.rest()))
  t.equal(answer.text.length, count * piece.length, 'All pieces arrive.')
  t.equal(answer.error, null)
})
