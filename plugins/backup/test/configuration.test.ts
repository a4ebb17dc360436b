import { test } from 'tap'
import { generateKey } from '../src/archive/recovery-key.ts'
import { createBackupNode } from './fixtures/backup-node.ts'

test('a wrong configuration says what to do', async (t) => {
  const { recipient, identity } = await generateKey()
  const slip = `${recipient.slice(0, 20)}${recipient[20] === 'q' ? 'p' : 'q'}${recipient.slice(21)}`
  for (const [what, backup, message] of [
    ['a slip', { recipients: [slip] }, /is not valid: it is incomplete or has a typing error/],
    ['a secret key', { recipients: [identity] }, /One of the recipients is a secret key/],
    ['a schedule', { schedule: 'every night' }, /"every night" is no cron expression/],
    ['a date that never comes', { schedule: '0 0 30 2 *' }, /is never due/],
    ['an unknown key', { keeps: { last: 3 } }, /keeps/],
    ['a negative number', { keep: { last: -1 } }, /keep.*last/],
  ] as const) {
    const lines: string[] = []
    const node = await createBackupNode({ config: { backup }, onLog: (line) => lines.push(line) }).catch(
      (error: Error) => void lines.push(error.message),
    )
    await node?.stop()
    t.match(lines.join('\n'), message, what)
    t.notMatch(lines.join('\n'), identity, 'no secret is told')
  }
})
