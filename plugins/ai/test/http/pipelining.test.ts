import t from 'tap'
import { createAiNode } from '../fixtures/ai-node.ts'
import { rawChat } from '../fixtures/raw-chat.ts'
import { scripted, stop, text, untilAborted } from '../fixtures/scripted-provider.ts'

t.test('Pipelined chats on one connection run one after the other', async (t) => {
  const gate = Promise.withResolvers<void>()
  const providers = {
    first: scripted(async function* () {
      yield text('one')
      await gate.promise
      yield stop
    }),
    second: scripted(function* () {
      for (let n = 0; n < 5000; n += 1) yield text('x'.repeat(1000))
      yield stop
    }),
    held: scripted(async function* (_request, signal) {
      yield text('held')
      await untilAborted(signal)
    }),
  }
  const node = await createAiNode({ providers })
  t.teardown(() => node.stop())
  const ada = await node.signIn()

  const connection = await rawChat(node, ada, { provider: 'first', stream: true }, 'keep-alive')
  await connection.ask({ provider: 'second', stream: true })
  await connection.until(/one/)
  for (let n = 0; n < 5; n += 1) await ada.fetch('/whoami')
  t.equal(providers.second.calls.length, 0, 'The second chat has not begun.')
  gate.resolve()
  const answers = await connection.until(/\[DONE][\s\S]*\[DONE]/)
  t.ok(answers.indexOf('[DONE]') < answers.indexOf('xxx'), 'Each answer is whole before the next one.')
  t.equal(answers.match(/x{1000}/g)?.length, 5000)

  await connection.ask({ provider: 'held', stream: true })
  await connection.ask({ provider: 'held', stream: true })
  while (providers.held.calls.length === 0) await ada.fetch('/whoami')
  const ended = providers.held.calls.map(
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
  )
  connection.socket.destroy()
  await Promise.all(ended)
  for (let n = 0; n < 5; n += 1) await ada.fetch('/whoami')
  t.equal(
    providers.held.calls.length,
    1,
    'The running chat ends with the connection, and the other one never begins.',
  )
})
