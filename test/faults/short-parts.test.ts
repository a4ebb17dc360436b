import { randomInt } from 'node:crypto'
import { test } from 'tap'
import backup from './backup.faults.ts'
import type { Fault } from './fault.ts'
import keptKills from './kept-kills.faults.ts'
import { runFaults } from './run-faults.ts'
import storageKills from './storage-kills.faults.ts'

// Three short parts that no other test plays. A round of each shows that they have not fallen behind the product.
const parts: Readonly<Record<string, Fault>> = {
  backup,
  'kept-kills': keptKills,
  'storage-kills': storageKills,
}

for (const [name, part] of Object.entries(parts)) {
  test(`a round of ${name} passes`, { skip: part.missing ?? false }, async (t) => {
    const printed: string[] = []
    const print = (line: string) => printed.push(line)
    const options = { seed: randomInt(2 ** 32), rounds: 1, minutes: 5, print }
    const counts = await runFaults(new Map([[name, part]]), options)
    t.strictSame(counts, { passed: 1, failed: 0, skipped: 0 }, printed.join('\n'))
  })
}
