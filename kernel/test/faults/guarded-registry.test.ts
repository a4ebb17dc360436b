import { test } from 'tap'
import { guardRegistry } from '../../src/faults/guarded-registry.ts'
import { Registries } from '../../src/services/registry.ts'

interface Greeter {
  readonly greeting: string
  greet(name: string): string
}

class Polite implements Greeter {
  readonly #mark = '!'
  readonly greeting = 'Hello'
  greet(name: string): string {
    return `${this.greeting} ${name}${this.#mark}`
  }
}

test('the kernel calls class instances and frozen objects with their own this, in the fault context of their owner', async (t) => {
  const entries = new Registries().entries('greeters@1')
  const calls: string[] = []
  const frozen = Object.freeze({ greeting: 'Hi', greet: (name: string) => `Hi ${name}` })
  for (const [name, entry] of Object.entries({ polite: new Polite(), frozen })) {
    entries.add(name, entry, 'plugin', (work) => {
      calls.push(name)
      return work()
    })
  }
  const greeters = guardRegistry<Greeter>(entries)
  t.same(greeters.names(), ['polite', 'frozen'])
  t.equal(greeters.get('polite')?.greet('Ada'), 'Hello Ada!')
  t.equal(greeters.get('frozen')?.greet('Ada'), 'Hi Ada')
  t.same(calls, ['polite', 'frozen'])
  t.same(
    [...greeters].map(([name, { greeting }]) => `${name}: ${greeting}`),
    ['polite: Hello', 'frozen: Hi'],
  )
  t.equal(greeters.get('nobody'), undefined)
})
