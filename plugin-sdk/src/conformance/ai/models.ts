import assert from 'node:assert/strict'
import { soon } from '../soon.ts'
import { assertEnded, assertUpstream } from './assertions.ts'
import type { AiCheck, AiSubject } from './subject.ts'

/** The reason of a skipped test. */
export const noModels = 'The server sends no list of models ("models" in "wireLacks").'

export function modelChecks(check: AiCheck): void {
  check('the models are those of the server', async ({ provider, models }) => {
    const listed = await soon(
      provider.models(new AbortController().signal),
      'the list of models does not come',
    )
    assert.ok(Array.isArray(listed), 'the models are an array')
    for (const model of listed)
      assert.ok(typeof model === 'string' && model !== '', 'a model is a non-empty string')
    assert.equal(new Set(listed).size, listed.length, 'no model is listed twice')
    assert.deepEqual(listed.toSorted(), [...models].sort())
  })

  check('an aborted request for models ends', async ({ provider }) => {
    const controller = new AbortController()
    for (const signal of [AbortSignal.abort(), controller.signal]) {
      const asking = provider.models(signal)
      controller.abort()
      await soon(
        asking.then(
          () => {},
          (thrown: unknown) => assertEnded(thrown, signal),
        ),
        'the request for models goes on after it was aborted',
      )
    }
  })

  check('models of an unreachable server are an upstream error', async (subject, skip) => {
    if (subject.wireLacks?.includes('models')) return skip(noModels)
    await subject.stopServer()
    const failure = await failureOfModels(subject)
    assert.ok(failure !== null, 'a provider without its server does not know the models')
    assertUpstream(failure.thrown, subject)
  })

  check('names of more than 512 characters are not listed', async (subject, skip) => {
    if (subject.wireLacks?.includes('models')) return skip(noModels)
    const [first = ''] = subject.models
    const longest = 'x'.repeat(512)
    subject.server.play({ kind: 'models', names: [`${longest}x`, first, longest] })
    const listed = await soon(
      subject.provider.models(new AbortController().signal),
      'the list of models does not come',
    )
    assert.deepEqual(listed.toSorted(), [first, longest].sort())
  })
}

/** Returns the error of a request for models, or `null` for a list. */
export function failureOfModels({ provider }: AiSubject): Promise<{ readonly thrown: unknown } | null> {
  const asking = provider.models(new AbortController().signal).then(
    () => null,
    (thrown: unknown) => ({ thrown }),
  )
  return soon(asking, 'the request for models does not end')
}
