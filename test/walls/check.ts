import { fileURLToPath } from 'node:url'
import { checkWalls } from './walls.ts'

const { breaches, lengths } = checkWalls(fileURLToPath(new URL('../../', import.meta.url)))
for (const breach of breaches) console.log(breach)
console.log(`source files: ${lengths.median} lines in the median, ${lengths.p95} at the 95th percentile`)
process.exitCode = breaches.length > 0 ? 1 : 0
