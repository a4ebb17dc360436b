import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { soon } from '../soon.ts'
import { assertBrokenOff, assertFailed, assertUpstream } from './assertions.ts'
import { hear, question } from './chatting.ts'
import { failureOfModels, noModels } from './models.ts'
import type { AiCheck } from './subject.ts'

/** Empty pieces that a reader takes before it believes that the provider passes all of them on. */
const enoughPieces = 1000

/** A server that is faulty or malicious must not fill the memory of the node, or take its time. */
export function boundChecks(check: AiCheck): void {
  const text = ['The', ' capital']

  check('a piece of a reply that does not end is an upstream error', async (subject) => {
    subject.server.play({ kind: 'endless', text })
    assertBrokenOff(await hear(subject), text, subject)
  })

  check('the body of an error that does not end changes nothing about the error', async (subject) => {
    subject.server.play({ kind: 'status', status: 500, endless: true })
    const { failure } = await hear(subject)
    assertFailed(failure?.thrown, ['UPSTREAM_ERROR'], subject)
  })

  check('a list of models that does not end is an upstream error', async (subject, skip) => {
    if (subject.wireLacks?.includes('models')) return skip(noModels)
    const [first = ''] = subject.models
    subject.server.play({ kind: 'models', names: [first], endless: true })
    const failure = await failureOfModels(subject)
    assert.ok(failure !== null, 'half of a list is not the list')
    assertUpstream(failure.thrown, subject)
  })

  check('blank lines without end are an upstream error', async (subject) => {
    subject.server.play({ kind: 'flood', text, of: 'blank lines' })
    assertBrokenOff(await hear(subject), text, subject)
  })

  check('events that add nothing come as pieces that add nothing, or end the chat', async (subject) => {
    subject.server.play({ kind: 'flood', text, of: 'empty events' })
    const controller = new AbortController()
    let pieces = 0
    const listen = async () => {
      for await (const delta of subject.provider.chat(question(subject), controller.signal)) {
        assert.notEqual(delta.type, 'finish', 'a flood is no end of a reply')
        pieces += 1
        // As the `ai` feature does, which counts these pieces.
        if (pieces % 16 === 0) await setImmediate()
        if (pieces > enoughPieces) return
      }
      assert.fail('a reply without an end is an error')
    }
    const outcome = listen().catch((error: unknown) => {
      if (error instanceof assert.AssertionError) throw error
      assertUpstream(error, subject)
    })
    await soon(
      outcome,
      `${pieces} pieces came of a flood, which then neither went on nor ended the chat`,
    ).finally(() => controller.abort())
  })
}
