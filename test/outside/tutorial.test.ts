import t from 'tap'
import { packOutside } from './packages.ts'
import { followTutorial } from './tutorial.ts'

const outside = await packOutside(t)

t.test('the tutorial of the SDK works as written', async (t) => {
  await followTutorial(t, outside)
})
