import { enableCompileCache } from 'node:module'

// Compiled code of the libraries is kept between starts, which saves a good part of each.
enableCompileCache()
const { run } = await import('./program.ts')
await run(process.argv.slice(2))
