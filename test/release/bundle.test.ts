import { readFile } from 'node:fs/promises'
import t from 'tap'
import { bundleTypebox, typeboxBundle } from './bundle.ts'

t.test('the bundle that the SDK loads is of the installed TypeBox', async (t) => {
  const same = (await readFile(typeboxBundle, 'utf8')) === (await bundleTypebox())
  t.ok(same, 'Run `npm run bundle` and commit plugin-sdk/vendor.')
})
