import { haltTogether, type PreparedSnapshot } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

/** A snapshot that notes what happens to it. */
function noted(
  events: string[],
  name: string,
  { fails }: { readonly fails?: 'halts' | 'is fixed' | 'goes on' } = {},
): PreparedSnapshot<{ name: string; release(): Promise<void> }> {
  const note = async (event: string) => {
    events.push(`${name} ${event}`)
    if (event === fails) throw new Error(`${name} broke`)
  }
  return {
    async halt() {
      await note('halts')
      return {
        async fix() {
          await note('is fixed')
          return { name, release: () => note('is released') }
        },
        [Symbol.asyncDispose]: () => note('goes on'),
      }
    },
    release: () => note('is given up'),
  }
}

test('all stand still before the first state is fixed, and nobody goes on before all are', async (t) => {
  const events: string[] = []
  {
    await using halted = await haltTogether([noted(events, 'one'), noted(events, 'two')])
    t.strictSame(
      (await halted.fix()).map(({ name }) => name),
      ['one', 'two'],
    )
    t.equal(events.length, 4)
    await halted[Symbol.asyncDispose]()
  }
  t.strictSame(events, [
    'one halts',
    'two halts',
    'one is fixed',
    'two is fixed',
    'two goes on',
    'one goes on',
  ])
  const none = await haltTogether([])
  t.strictSame(await none.fix(), [])
  await none[Symbol.asyncDispose]()
})

test('if one does not halt, the others go on', async (t) => {
  const events: string[] = []
  const broken = noted(events, 'three', { fails: 'halts' })
  await t.rejects(haltTogether([noted(events, 'one'), noted(events, 'two'), broken]), {
    message: 'three broke',
  })
  t.strictSame(events, ['one halts', 'two halts', 'three halts', 'two goes on', 'one goes on'])
})

test('if one is not fixed, those that were fixed are released; if one does not go on, the others do', async (t) => {
  const events: string[] = []
  const broken = noted(events, 'two', { fails: 'is fixed' })
  const halted = await haltTogether([noted(events, 'one'), broken, noted(events, 'three')])
  events.length = 0
  await t.rejects(halted.fix(), { message: 'two broke' })
  t.strictSame(events, ['one is fixed', 'two is fixed', 'one is released'])
  await halted[Symbol.asyncDispose]()
  const stuck = noted(events, 'two', { fails: 'goes on' })
  const other = await haltTogether([noted(events, 'one'), stuck])
  events.length = 0
  await t.rejects(async () => other[Symbol.asyncDispose](), { message: 'two broke' })
  t.strictSame(events, ['two goes on', 'one goes on'])
  const thrower = {
    halt: async () => ({
      fix: async () => ({ name: 'two', release: async () => {} }),
      [Symbol.asyncDispose]() {
        throw new Error('two threw at once')
      },
    }),
    release: async () => {},
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = {
    ...noted(events, 'three'),
    halt: async () => ({
      fix: async () => ({ name: 'three', release: async () => {} }),
      async [Symbol.asyncDispose]() {
        await promise
        events.push('three goes on')
      },
    }),
  }
  const last = await haltTogether([noted(events, 'one'), slow, thrower])
  events.length = 0
  const ending = last[Symbol.asyncDispose]()
  resolve()
  await t.rejects(async () => ending, { message: 'two threw at once' })
  t.strictSame(events, ['one goes on', 'three goes on'], 'it waits for all')
})
