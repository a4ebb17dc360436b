import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'tap'
import { createKernelReader } from '../../src/services/kernel-reader.ts'
import { callWithSignal } from '../../src/services/owned-signal.ts'
import { Registries } from '../../src/services/registry.ts'

const account = new AsyncLocalStorage<string>()

function owned() {
  const entries = new Registries().entries('tools@1')
  account.run('smith', () => entries.add('hammer', {}, 'smith', AsyncLocalStorage.snapshot()))
  return { entries, onAccount: createKernelReader(entries).accountOf('hammer') }
}

test('a call is aborted with its signal, on the account of the plugin, also when its entry is gone', async (t) => {
  const { entries, onAccount } = owned()
  const abort = new AbortController()
  const heard = Promise.withResolvers<unknown>()
  const call = callWithSignal(onAccount, abort.signal, (signal) => {
    signal.addEventListener('abort', () => heard.resolve([account.getStore(), signal.reason]))
    return new Promise<void>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    )
  })
  entries.remove('hammer', 'smith')
  abort.abort('enough')
  await t.rejects(call)
  t.same(await heard.promise, ['smith', 'enough'])
})

test('what is over is not aborted any more', async (t) => {
  const { onAccount } = owned()
  for (const call of [async () => 'done', () => 'done', () => Promise.reject('failed')]) {
    const abort = new AbortController()
    let given: AbortSignal | undefined
    const result = callWithSignal(onAccount, abort.signal, (signal) => {
      given = signal
      return call()
    })
    t.match(await result.catch((reason) => reason), /done|failed/)
    abort.abort()
    t.equal(given?.aborted, false)
  }
})

test('nothing is called when it is too late already', async (t) => {
  const call = () => t.fail('it is called')
  await t.rejects(callWithSignal(owned().onAccount, AbortSignal.abort(new Error('enough')), call), {
    message: 'enough',
  })
})
