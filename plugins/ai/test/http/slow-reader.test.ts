import t from 'tap'
import { createAiNode } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { rawChat, unchunked } from '../fixtures/raw-chat.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'
import { untilStable } from '../fixtures/until-stable.ts'

const megabyte = 1024 * 1024

t.test('a client that does not read slows the provider down, and fills no memory', async (t) => {
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
  // What the system keeps for a connection on its two sides is some megabytes.
  t.ok(waiting * piece.length < 10 * megabyte, `${waiting} pieces were taken`)
  t.notOk(last.signal.aborted)
  connection.socket.resume()
  const answer = readEvents(unchunked(await connection.rest()))
  t.equal(answer.text.length, count * piece.length, 'nothing got lost')
  t.equal(answer.error, null)
})
