import { fileURLToPath } from 'node:url'
import { checkApiReport } from './api-report.ts'
import { checkWalls } from './walls.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const breaches = [...checkWalls(root), ...(await checkApiReport(root))]
for (const breach of breaches) console.log(breach)
process.exitCode = breaches.length > 0 ? 1 : 0
