import t from 'tap'
import { CrossMountMoves } from '../../src/operations/cross-mount-moves.ts'

t.test('a move whose client leaves does not wait for a backup, and holds up no later one', async (t) => {
  const crossMountMoves = new CrossMountMoves()
  const { signal } = new AbortController()
  const resume = await crossMountMoves.pause(signal)
  const left = new AbortController()
  const beginning = crossMountMoves.begin(left.signal)
  left.abort(new Error('left'))
  await t.rejects(beginning, { message: 'left' })
  resume()
  const resumeAgain = await crossMountMoves.pause(signal)
  resumeAgain()
  const end = await crossMountMoves.begin(signal)
  end()
})
