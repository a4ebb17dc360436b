import assert from 'node:assert/strict'
import { soon } from '../soon.ts'
import { assertEnded, assertUpstream } from './assertions.ts'
import type { AiCheck, AiSubject } from './subject.ts'

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

  check('models of an unreachable server are an upstream error', async (subject) => {
    await subject.stopServer()
    const failure = await failureOfModels(subject)
    if (failure !== null) assertUpstream(failure.thrown, subject)
  })
}

/** Returns the error of a request for models, or `null` for a list: a provider may have a list of its own. */
export function failureOfModels({ provider }: AiSubject): Promise<{ readonly thrown: unknown } | null> {
  const asking = provider.models(new AbortController().signal).then(
    () => null,
    (thrown: unknown) => ({ thrown }),
  )
  return soon(asking, 'the request for models does not end')
}
