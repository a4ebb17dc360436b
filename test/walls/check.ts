import { fileURLToPath } from 'node:url'
import { checkWalls } from './walls.ts'

const breaches = checkWalls(fileURLToPath(new URL('../../', import.meta.url)))
for (const breach of breaches) console.log(breach)
process.exitCode = breaches.length > 0 ? 1 : 0
