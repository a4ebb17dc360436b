import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'tap'
import { guardRegistry } from '../../src/faults/guarded-registry.ts'
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
  const entries = new Registries().entries('tools@1')
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

test('an entry runs in the context of the plugin that added it, with its own this', async (t) => {
  class Tool {
    #uses = 0
    name = 'hammer'
    use() {
      this.#uses += 1
      return `${owner.getStore()} ${this.#uses}`
    }
  }
  const entries = new Registries().entries('tools@1')
  owner.run('smith', () => entries.add('hammer', new Tool(), 'smith', AsyncLocalStorage.snapshot()))
  const reader = guardRegistry<Tool>(entries)
  t.equal(reader.get('saw'), undefined)
  t.equal(reader.get('hammer')?.name, 'hammer')
  t.equal(reader.get('hammer')?.use(), 'smith 1')
  for (const [name, tool] of reader) t.equal(`${name}: ${tool.use()}`, 'hammer: smith 2')
  t.same(reader.names(), ['hammer'])
})
