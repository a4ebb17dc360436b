import { test } from 'tap'
import { generateKey } from '../src/archive/recovery-key.ts'
import { createBackupNode } from './fixtures/backup-node.ts'

test('a wrong configuration says what to do', async (t) => {
  const { recipient, identity } = await generateKey()
  const slip = `${recipient.slice(0, 20)}${recipient[20] === 'q' ? 'p' : 'q'}${recipient.slice(21)}`
  for (const [what, backup, message] of [
    [
      'a slip',
      { recipients: [recipient, slip] },
      /backup\.recipients\[1\] .*has a typing error\. Copy it again/,
    ],
    [
      'a secret key',
      { recipients: [identity] },
      /backup\.recipients\[0\] .*is a secret key\. Use its public/,
    ],
    ['no key', { recipients: ['me'] }, /backup\.recipients\[0\] .*is no recipient of age.*backup key/],
    ['a schedule', { schedule: 'every night' }, /backup\.schedule .*is no cron expression: .*Write one/],
    ['a date that never comes', { schedule: '0 0 30 2 *' }, /backup\.schedule .*is never due\. Write one/],
    [
      'a target',
      { targets: ['dsk'] },
      /backup\.targets\[0\] names the storage "dsk".*Loaded storages: local/,
    ],
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
