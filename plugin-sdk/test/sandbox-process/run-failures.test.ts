import {
  memoryLimitReached,
  runtimeStopped,
  sandboxEnded,
  timeLimitReached,
} from '@nodekeep/plugin-sdk/sandbox-process'
import t from 'tap'

t.match(timeLimitReached({ timeoutMs: 200 }), {
  code: 'UNPROCESSABLE',
  message: 'The time limit of 200 ms was reached.',
})
t.match(memoryLimitReached({ memoryBytes: 4 * 2 ** 20 }), {
  code: 'UNPROCESSABLE',
  message: 'The memory limit of 4 MiB was reached.',
})
t.match(sandboxEnded('SIGKILL'), { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '1' } })
t.notMatch(sandboxEnded('SIGKILL').message, /SIGKILL/, 'The message does not name the exit of the process.')
t.match(runtimeStopped(), { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '5' } })
