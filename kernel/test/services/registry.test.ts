import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'tap'
import { createRegistryReader, Registries } from '../../src/services/registry.ts'

const owner = new AsyncLocalStorage<string>()

test('a registry exists from its first use and is the same for all plugins', async (t) => {
  const registries = new Registries()
  registries.entries('tools@1').add('hammer', 1, 'smith')
  t.equal(registries.entries('tools@1').get('hammer'), 1)
  t.equal(registries.entries('tools@2').get('hammer'), undefined)
})

test('a registry refuses a taken name and names the plugin that has it', async (t) => {
  const entries = new Registries().entries('tools@1')
  entries.reserve('anvil')
  entries.add('hammer', 1, 'smith')
  t.throws(() => entries.add('hammer', 2, 'carpenter'), {
    code: 'CONFLICT',
    message: /"carpenter" adds "hammer" to the registry "tools@1", where "smith" has that name already/,
  })
  t.throws(() => entries.add('anvil', 2, 'carpenter'), { code: 'CONFLICT' })
  t.equal(entries.get('hammer'), 1)
})

test('a plugin cannot remove the entry of another plugin', async (t) => {
  const entries = new Registries().entries('tools@1')
  entries.add('hammer', 1, 'smith')
  entries.remove('hammer', 'carpenter')
  t.same(entries.names(), ['hammer'])
  t.same(entries.namesOf('smith'), ['hammer'])
  entries.remove('hammer', 'smith')
  t.same(entries.names(), [])
})

test('a reader is a live view in the order of addition', async (t) => {
  const entries = new Registries().entries<number>('tools@1')
  const disposers: (() => void)[] = []
  const reader = createRegistryReader<number>(entries, (dispose) => disposers.push(dispose))
  t.same([...reader], [])
  entries.add('saw', 2, 'carpenter')
  entries.add('hammer', 1, 'smith')
  t.strictSame([reader.ownerOf('saw'), reader.ownerOf('nail')], ['carpenter', undefined])
  t.same(
    [...reader],
    [
      ['saw', 2],
      ['hammer', 1],
    ],
  )
  t.equal(reader.has('saw'), true)
  t.equal(reader.get('axe'), undefined)

  let changes = 0
  reader.onChange(() => {
    changes += 1
  })
  entries.announce()
  t.equal(changes, 1)
  t.equal(disposers.length, 1, 'the owner of the reader can remove the listener')
  for (const dispose of disposers) dispose()
  entries.announce()
  t.equal(changes, 1)
})

test('a listener runs in the context in which it was added', async (t) => {
  const entries = new Registries().entries('tools@1')
  const contexts: unknown[] = []
  owner.run('reader', () => entries.listen(() => contexts.push(owner.getStore())))
  owner.run('writer', () => entries.announce())
  t.same(contexts, ['reader'])
})

class Tool {
  #uses = 0
  use() {
    this.#uses += 1
    return `${owner.getStore()} ${this.#uses}`
  }
}

/** A registry with an entry of the plugin "smith". */
function withHammer() {
  const entries = new Registries().entries<Tool>('tools@1')
  owner.run('smith', () => entries.add('hammer', new Tool(), 'smith', AsyncLocalStorage.snapshot()))
  return entries
}

const { signal: never } = new AbortController()

test('a call of an entry runs in the context of the plugin that added it, with its own this', async (t) => {
  const entries = withHammer()
  t.equal(await entries.call('hammer', never, (tool) => tool.use()), 'smith 1')
  t.equal(await entries.call('hammer', never, async (tool) => tool.use()), 'smith 2')
  await t.rejects(
    entries.call('saw', never, (tool) => tool.use()),
    { message: 'The registry "tools@1" has no "saw" any more.' },
  )
})

test('a signal aborts its call in the context of the plugin, even after the entry is removed', async (t) => {
  const entries = withHammer()
  const abort = new AbortController()
  const aborted = Promise.withResolvers<unknown>()
  const call = entries.call('hammer', abort.signal, (_tool, signal) => {
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
  for (const work of [async () => 'done', () => 'done', () => Promise.reject('failed')]) {
    const abort = new AbortController()
    let given: AbortSignal | undefined
    const result = withHammer().call('hammer', abort.signal, (_tool, signal) => {
      given = signal
      return work()
    })
    t.match(await result.catch((reason) => reason), /done|failed/)
    abort.abort()
    t.equal(given?.aborted, false)
  }
})

test('an aborted signal prevents the call', async (t) => {
  const call = () => t.fail('it is called')
  await t.rejects(withHammer().call('hammer', AbortSignal.abort(new Error('enough')), call), {
    message: 'enough',
  })
})
