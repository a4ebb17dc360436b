/** `npm run design`: shows all parts of the pages with their states, until Ctrl+C. A port can be named. */
import { serveDesign } from './serve.ts'

const [port = '4300'] = process.argv.slice(2)
const { url } = await serveDesign(Number(port))
console.log(`Open ${url.href} in a browser. Stop it with Ctrl+C.`)
