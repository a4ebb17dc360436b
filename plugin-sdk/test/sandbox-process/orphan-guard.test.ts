import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Log } from '@nodekeep/plugin-sdk'
import { OrphanGuard } from '@nodekeep/plugin-sdk/sandbox-process'
import { test } from 'tap'

/** Starts a process that does nothing until its input ends. */
function startSleeper() {
  return spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] })
}

test('A guarded process ends with the guard, and a dropped one does not', async (t) => {
  const guard = new OrphanGuard({ warn: () => {} } as unknown as Log)
  const [guarded, dropped] = [startSleeper(), startSleeper()]
  for (const { pid } of [guarded, dropped]) guard.add(pid)
  guard.drop(dropped.pid)
  const ended = once(guarded, 'exit')
  await guard.stop()
  t.strictSame(await ended, [null, 'SIGKILL'])
  t.equal(dropped.exitCode, null)
  dropped.stdin.end()
  t.strictSame(await once(dropped, 'exit'), [0, null])
})
