import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'tap'
import { callWithSignal, guardRegistry } from '../../src/faults/guarded-registry.ts'
import { Registries } from '../../src/services/registry.ts'

const owner = new AsyncLocalStorage<string>()

function owned() {
  const entries = new Registries().entries('tools@1')
  owner.run('smith', () => entries.add('hammer', {}, 'smith', AsyncLocalStorage.snapshot()))
  return { entries, context: guardRegistry(entries).contextOf('hammer') }
}

test('a signal aborts its call in the fault context of the plugin, even after the entry is removed', async (t) => {
  const { entries, context } = owned()
  const abort = new AbortController()
  const aborted = Promise.withResolvers<unknown>()
  const call = callWithSignal(context, abort.signal, (signal) => {
    signal.addEventListener('abort', () => aborted.resolve([owner.getStore(), signal.reason]))
    return new Promise<void>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    )
  })
  entries.remove('hammer', 'smith')
  abort.abort('enough')
  await t.rejects(call)
  t.same(await aborted.promise, ['smith', 'enough'])
})

test('a signal does not abort a completed call', async (t) => {
  const { context } = owned()
  for (const call of [async () => 'done', () => 'done', () => Promise.reject('failed')]) {
    const abort = new AbortController()
    let given: AbortSignal | undefined
    const result = callWithSignal(context, abort.signal, (signal) => {
      given = signal
      return call()
    })
    t.match(await result.catch((reason) => reason), /done|failed/)
    abort.abort()
    t.equal(given?.aborted, false)
  }
})

test('an aborted signal prevents the call', async (t) => {
  const call = () => t.fail('it is called')
  await t.rejects(callWithSignal(owned().context, AbortSignal.abort(new Error('enough')), call), {
    message: 'enough',
  })
})
