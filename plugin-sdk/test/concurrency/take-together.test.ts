import { type PreparedSnapshot, takeTogether } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

/** A snapshot that notes what happens to it. */
function noted(events: string[], name: string): PreparedSnapshot<{ name: string; release(): Promise<void> }> {
  const note = async (event: string) => void events.push(`${name} ${event}`)
  return {
    async take(atMoment) {
      await note('halts')
      await atMoment()
      await note('goes on')
      return { name, release: () => note('is released') }
    },
    release: () => note('is given up'),
  }
}

test('all stand still before the moment, and nobody goes on before it is over', async (t) => {
  const events: string[] = []
  const taken = await takeTogether([noted(events, 'one'), noted(events, 'two')], async () => {
    events.push('moment')
  })
  t.strictSame(
    taken.map(({ name }) => name),
    ['one', 'two'],
  )
  t.strictSame(events, ['one halts', 'two halts', 'moment', 'two goes on', 'one goes on'])
  t.strictSame(await takeTogether([]), [])
})

test('if one fails, those that were taken are released', async (t) => {
  const events: string[] = []
  const failure = new Error('the disk broke')
  const failsAfterwards: PreparedSnapshot<never> = {
    async take(atMoment) {
      await atMoment()
      throw failure
    },
    release: async () => {},
  }
  const taking = takeTogether([failsAfterwards, noted(events, 'two'), noted(events, 'three')])
  t.equal(await taking.catch((thrown) => thrown), failure)
  t.strictSame(events.slice(-2), ['two is released', 'three is released'])
  events.length = 0
  const refused = takeTogether([noted(events, 'one'), noted(events, 'two')], () => Promise.reject(failure))
  t.equal(await refused.catch((thrown) => thrown), failure)
  t.strictSame(events, ['one halts', 'two halts'])
})
