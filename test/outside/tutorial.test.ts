import t from 'tap'
import { packOutside } from './packages.ts'
import { followTutorial } from './tutorial.ts'

// Installing takes as long as the disk and the registry do.
const timeout = 120_000
t.setTimeout(2 * timeout)
const outside = await packOutside(t)

t.test('the tutorial of the SDK works as it is written', { timeout }, async (t) => {
  await followTutorial(t, outside)
})
