export { isCommands } from './commands.ts'
export { isPlugin } from './plugin.ts'
export { byteSizeKeyword, checkKeyword, filePathKeyword, secretKeyword } from './schema.ts'
export { isId, tokenKey } from './service.ts'
