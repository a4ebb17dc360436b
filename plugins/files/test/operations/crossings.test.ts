import t from 'tap'
import { Crossings } from '../../src/operations/crossings.ts'

t.test('a move whose client leaves does not wait for a backup, and holds up no later one', async (t) => {
  const crossings = new Crossings()
  const { signal } = new AbortController()
  const resume = await crossings.pause(signal)
  const left = new AbortController()
  const beginning = crossings.begin(left.signal)
  left.abort(new Error('left'))
  await t.rejects(beginning, { message: 'left' })
  resume()
  const resumeAgain = await crossings.pause(signal)
  resumeAgain()
  const end = await crossings.begin(signal)
  end()
})
