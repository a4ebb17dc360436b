import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { openLocalBackend } from '../src/open-local-backend.ts'

test('a second process is refused the folder until the first one has ended, however it ends', async (t) => {
  const root = t.testdir()
  const holder = fileURLToPath(new URL('fixtures/root-holder.ts', import.meta.url))
  const first = spawn(process.execPath, [...process.execArgv, holder, root], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => first.kill('SIGKILL'))
  await once(first.stdout, 'data')
  await t.rejects(openLocalBackend({ root }), {
    code: 'CONFLICT',
    message: /Another node uses the storage folder/,
  })
  first.kill('SIGKILL')
  await once(first, 'exit')
  const backend = await openLocalBackend({ root })
  await backend.close()
  const again = await openLocalBackend({ root })
  await again.close()
})
