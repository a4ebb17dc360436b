import t from 'tap'
import { packOutside } from './packages.ts'
import { followTutorial } from './tutorial.ts'

// The time of an installation depends on the disk and the registry.
const timeout = 120_000
t.setTimeout(2 * timeout)
const outside = await packOutside(t)

t.test('the tutorial of the SDK works as written', { timeout }, async (t) => {
  await followTutorial(t, outside)
})
