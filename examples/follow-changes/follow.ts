/** Prints the changes of your files as they happen. See README.md beside this file. */
const { NODE = 'http://127.0.0.1:4200', TOKEN = '' } = process.env

// A page of the node needs no header: the browser sends its cookie.
const options = { headers: { authorization: `Bearer ${TOKEN}` } }
const socket = new WebSocket(new URL('/api/sync', NODE), options as never)
const say = (message: object) => socket.send(JSON.stringify(message))

socket.addEventListener('open', () => say({ type: 'hello', protocol: 1 }))
socket.addEventListener('message', ({ data }) => {
  const message = JSON.parse(data)
  if (message.type === 'reset') console.log('Following. To keep a copy of your files, list them now.')
  if (message.type === 'error') console.error(message.error.message)
  if (message.type !== 'changes') return
  for (const { op, path, by = 'a client' } of message.changes) console.log(`${op} ${path} by ${by}`)
  say({ type: 'ack', cursor: message.cursor })
})
socket.addEventListener('close', () => {
  console.error(`The connection to ${NODE} has ended.`)
  process.exitCode = 1
})
