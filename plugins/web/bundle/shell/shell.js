import{A as S,B as te,C as ne,D as V,E as k,F as oe,G as re,H as ae,I as se,K as le,M as y,N as ie,P as ue,Q as w,a as Y,b as o,c as f,d as q,e as h,f as T,g as v,i as $,j,k as J,l,p as B,q as X,r as P,s as I,v as C,w as D,x as Z,y as M,z as ee}from"./chunk.js";function ce({icon:e,title:t,text:r="",children:n}){return o`<div class="empty">
    ${f(e)}
    <h2>${t}</h2>
    ${r!==""&&o`<p>${r}</p>`}
    ${n!==void 0&&o`<div class="choices">${n}</div>`}
  </div>`}var x=$(null),R=$(""),N=$(!1);function me(e){return x.value?.answer(null),new Promise(t=>{R.value="",N.value=!1,x.value={...e,answer(r){x.value=null,t(r)}}})}function pe(){let e=x.value;if(h(()=>()=>x.value?.answer(null),[]),e===null)return null;let{title:t,text:r,field:n,agree:a,check:s,answer:u}=e,i=async c=>{if(c.preventDefault(),N.value)return;let m=new FormData(c.target),p=String(m.get("value")??"").trim();N.value=!0;let d=await s?.(p)??null;x.value===e&&(N.value=!1,d===null?u(p):R.value=d)};return o`<${K} title=${t} selected=${n?.selected} onClose=${()=>u(null)}>
    <form onSubmit=${i}>
      ${r&&o`<p>${r}</p>`}
      ${n&&o`<label>${n.label}<input name="value" defaultValue=${n.value} autocomplete="off" autofocus /></label>`}
      <p class="fault" role="alert">${R}</p>
      <p class="buttons">
        <button type="button" onClick=${()=>u(null)}>${l.cancel}</button>
        <button type="submit" class="main" aria-disabled=${N.value}>${a}</button>
      </p>
    </form>
  <//>`}function K(e){let t=v(null);return T(()=>{let n=t.current;n?.showModal();let a=n?.querySelector("input[autofocus]");return a?.setSelectionRange(0,e.selected??a.value.length),()=>n?.close()},[]),o`<dialog ref=${t} onCancel=${n=>{n.preventDefault(),e.onClose()}} aria-label=${e.title}>
    <h2>${e.title}</h2>
    ${e.children}
  </dialog>`}var Te=500,E=class{question;value=$(null);#e=Number.NEGATIVE_INFINITY;constructor(t){this.question=t}get isFresh(){return performance.now()-this.#e<this.question.freshMs}async ask(){let t=performance.now();this.#e=t;let r=ae(),n=()=>{this.value.value=null,this.#e=Number.NEGATIVE_INFINITY};r.addEventListener("abort",n,{once:!0});try{let a=await fetch(this.question.path,{signal:r}),s=a.ok?await a.json():null;s!==null&&this.#e===t&&(this.value.value=s)}catch{}r.removeEventListener("abort",n),r.aborted&&n()}};function L(e){let{value:t}=e.value,{value:r}=re,n=e.question.everyMs(t);return h(()=>{e.isFresh||e.ask()},[y.value?.name,C.value]),h(()=>{if(r===0)return;let a=setTimeout(()=>{e.ask()},Te);return()=>clearTimeout(a)},[r]),h(()=>{if(n===null)return;let a=setInterval(()=>{document.hidden||e.ask()},n);return()=>clearInterval(a)},[n]),t}var Pe=new E({path:"/api/system/health",freshMs:5e3,everyMs:()=>6e4});function de(){let{attention:e=[]}=L(Pe)??{},t=e.length;if(t===0)return null;let r=e.every(({ok:a})=>a)?"warning":"fault",n=l.shell.attention(t);return o`<a class=${`badge attention-badge ${r}`} href=${M("/node")} aria-label=${n} title=${n}>
    ${f("bell")}${t}
  </a>`}var Ie=6;function Q({name:e}){let[t="?"]=e,r=[...e].reduce((n,a)=>n+(a.codePointAt(0)??0),0);return o`<span class="avatar" data-letter=${t} data-color=${r%Ie} aria-hidden="true"></span>`}var Ce=700,F=6;function Se({label:e,items:t,at:r,onClose:n,children:a}){let s=v(null),u=v({text:"",at:0});return T(()=>{let c=s.current,m=document.activeElement;if(c===null)return;c.showPopover();let p=()=>Fe(c,r);p(),addEventListener("resize",p),fe(c)[0]?.focus({preventScroll:!0});let d=({target:g})=>{[c,r].some(z=>z instanceof Element&&z.contains(g))||n()};return addEventListener("pointerdown",d,{capture:!0}),()=>{removeEventListener("pointerdown",d,{capture:!0}),removeEventListener("resize",p);let{activeElement:g}=document;(g===document.body||c.contains(g))&&m instanceof HTMLElement&&m.focus({preventScroll:!0})}},[]),o`<div class="menu" popover="manual" ref=${s} onKeyDown=${c=>{let m=s.current;if(m===null||c.ctrlKey||c.metaKey||c.altKey)return;let p=fe(m),d=p.indexOf(document.activeElement),g=Le(c.key,p,d,u.current);if(c.key==="Tab"||c.key==="Escape")n();else if(g!==void 0)g.focus();else return;c.preventDefault()}}>
    ${a}
    <div role="menu" aria-label=${e}>
      ${t.map(c=>c===null?o`<hr />`:o`<${Ve} item=${c} onClose=${n} />`)}
    </div>
  </div>`}function Ve({item:e,onClose:t}){let{label:r,icon:n,keys:a,isDanger:s=!1,isChosen:u,refused:i}=e,c={role:u===void 0?"menuitem":"menuitemradio",tabindex:-1,class:s?"danger":"","aria-checked":u,"aria-disabled":i===void 0?void 0:!0,title:i},m=o`
    ${typeof n=="string"?f(n):n}
    <span>${r}</span>
    ${a!==void 0&&o`<kbd aria-hidden="true">${a}</kbd>`}
    ${u===!0&&o`<span class="end">${f("check")}</span>`}
  `;if("href"in e){let d=e.isCurrent===!0?"page":void 0;return o`<a ...${c} href=${e.href} aria-current=${d} onClick=${t}>${m}</a>`}return o`<button type="button" ...${c} aria-keyshortcuts=${a} onClick=${()=>{i===void 0&&(t(),queueMicrotask(e.run))}}>${m}</button>`}function A({label:e,items:t,head:r,children:n,...a}){let s=v(null),u=J(!1),i=()=>{u.value=!u.value},c=()=>{u.value=!1};return o`<button
      type="button"
      ...${a}
      ref=${s}
      aria-label=${e}
      aria-haspopup="menu"
      aria-expanded=${u.value}
      onClick=${i}
    >${n}</button>
    ${u.value&&s.current&&o`<${Se} label=${e} items=${t} at=${s.current} onClose=${c}>${r}<//>`}`}function fe(e){return[...e.querySelectorAll('[role^="menuitem"]')]}function Le(e,t,r,n){if(e==="ArrowDown")return t[(r+1)%t.length];if(e==="ArrowUp")return t.at(r<=0?-1:r-1);if(e==="Home")return t[0];if(e==="End")return t.at(-1);if(e.length!==1||e===" ")return;let a=performance.now();n.text=(a-n.at<Ce?n.text:"")+e.toLocaleLowerCase(),n.at=a;let s=n.text.length===1?r+1:r;return[...t.slice(s),...t.slice(0,s)].find(({innerText:i})=>i.trim().toLocaleLowerCase().startsWith(n.text))}function Fe(e,t){let{width:r,height:n}=e.getBoundingClientRect(),a=(d,g,O)=>Math.max(F,Math.min(d,O-g-F)),s=t instanceof Element?t.getBoundingClientRect():new DOMRect(t.x,t.y,0,0),u=t instanceof Element?F:0,i=s.left+s.width/2<innerWidth/2||!(t instanceof Element),c=s.bottom+u+n+F<=innerHeight||s.top<innerHeight-s.bottom,m=i?s.left:s.right-r,p=c?s.bottom+u:s.top-u-n;e.style.left=`${a(m,r,innerWidth)}px`,e.style.top=`${a(p,n,innerHeight)}px`}function H(){return o`<a class="product" href="#/"><img src="/web/icon.svg" alt="" /><span>${V}</span></a>`}function he({bytes:e,space:t}){let{free:r,total:n}=t,a=s=>({width:`${100*Math.min(Math.max(s,0),n)/Math.max(n,1)}%`});return o`<span class="usage-bar" aria-hidden="true">
    <span class=${e>0?"own":""} style=${a(e)}></span>
    <span class="others" style=${a(n-r-e)}></span>
  </span>`}var Ae=new E({path:"/api/files/usage?path=/",freshMs:3e4,everyMs:e=>e?.isComplete===!1?2e3:null});function $e(){let e=L(Ae);if(e===null)return null;let{bytes:t,kept:r,quota:n,space:a}=e,s=n?.taken??t+r.trash+r.versions,u=n?.bytes??a?.total,i=n?Math.max(0,n.bytes-n.taken):a?.free;return u===void 0||i===void 0?o`<p class="room">${l.shell.roomUsed(w(s))}</p>`:o`<p class="room">
    ${n?l.shell.roomOf(w(s),w(u)):l.shell.roomUsed(w(s))}
    <${he} bytes=${s} space=${{free:i,total:u}} />
    ${l.shell.roomFree(w(i))}
  </p>`}var He=4;function ye({pages:e}){let t=I(P),r=e.filter(({place:i})=>i==="tab").slice(0,He),n=t?r:e.filter(({place:i})=>i==="tab"||i==="side"),a=e.filter(i=>i.place!=="user"&&!n.includes(i)),s=y.value?.name,u=a.some(({name:i})=>i===s);return o`<nav class="side" aria-label=${l.shell.navigation}>
    <${H} />
    <ul>
      ${n.map(({name:i,title:c,icon:m})=>o`<li key=${i}>
          <a href=${M(`/${i}`)} aria-current=${i===s?"page":void 0}>
            ${q(m)}<span>${c}</span>
          </a>
        </li>`)}
      ${a.length>0&&o`<li>
          <${A} label=${l.shell.more} items=${U(a)} aria-current=${u?"true":void 0}>
            ${f("ellipsis")}<span>${l.shell.more}</span>
          <//>
        </li>`}
    </ul>
    ${!t&&e.some(({name:i})=>i==="files")&&o`<${$e} />`}
  </nav>`}function U(e){return e.map(({name:t,title:r,icon:n})=>({label:r,icon:q(n),href:M(`/${t}`),isCurrent:t===y.value?.name}))}var W=["light","dark","system"],ge="nodekeep-theme",b=$(be());j(()=>{let{dataset:e}=document.documentElement;b.value==="system"?delete e.theme:e.theme=b.value;for(let t of document.querySelectorAll("meta[data-scheme]")){let{scheme:r}=t.dataset;b.value==="system"?t.media=`(prefers-color-scheme: ${r})`:t.media=r===b.value?"all":"not all"}});addEventListener("storage",()=>{b.value=be()});function ve(e){b.value=e;try{localStorage.setItem(ge,e)}catch{}}function be(){try{let e=localStorage.getItem(ge);return W.find(t=>t===e)??"system"}catch{return"system"}}var Oe={light:"sun",dark:"moon",system:"monitor"};function we({user:e,pages:t}){let r=[...U(t.filter(({place:a})=>a==="user")),null,...W.map(a=>({label:l.shell.themes[a],icon:Oe[a],isChosen:b.value===a,run:()=>ve(a)})),null,{label:l.shell.signOut,icon:"log-out",run:()=>{qe()}}],n=o`<p class="person-head"><${Q} name=${e.username} /><b>${e.username}</b></p>`;return o`<${A} class="person" label=${l.shell.menuOf(e.username)} items=${r} head=${n}>
    <${Q} name=${e.username} />
  <//>`}async function qe(){let{signOut:e,signOutTitle:t,signOutText:r}=l.shell;if(!(Be()&&await me({title:t,text:r,agree:e})===null))try{await le(),ee(l.shell.signedOut)}catch(n){S(n,l.shell.requestFailed)}}function Be(){return!dispatchEvent(new Event("beforeunload",{cancelable:!0}))}var De='input:not([type="checkbox"]), textarea, select',Re="dialog[open], :popover-open, .viewer";function xe({target:e}){return!(e instanceof Element&&e.matches(De))&&document.querySelector(Re)===null}var Ke=200,G="files";function Me(){let e=v(null),t=Ee(),r=I(P);h(()=>{let a=Ee();e.current!==null&&e.current.value!==a&&(e.current.value=a)},[t]),h(()=>{let a=s=>{let{key:u,ctrlKey:i,metaKey:c,altKey:m}=s;u!=="/"||i||c||m||!xe(s)||(s.preventDefault(),e.current?.focus(),e.current?.select())};return addEventListener("keydown",a),()=>removeEventListener("keydown",a)},[]);let n=({currentTarget:a})=>{let s=a.value,u=y.peek()?.name===G;if(s===""&&!u)return;let i=u?C.peek():"/";Z(`/${G}${i==="/"?"":i}`,{query:s===""?{}:{search:s},replace:u&&D.peek().search!==void 0})};return o`<search>
    ${f("search")}
    <input
      type="search"
      ref=${e}
      defaultValue=${t}
      placeholder=${r?l.shell.searchShort:l.shell.search}
      aria-label=${l.shell.search}
      aria-keyshortcuts="/"
      maxlength=${Ke}
      autocomplete="off"
      spellcheck=${!1}
      onInput=${n}
    />
    ${Qe()&&o`<kbd aria-hidden="true">/</kbd>`}
  </search>`}function Ee(){return y.value?.name===G?D.value.search??"":""}function Qe(){return matchMedia("(hover: hover) and (pointer: fine)").matches}var ke=$(null),Ne=$(!1);async function Ue(){try{ke.value??=(await import("./sign-in.js")).SignIn}catch{Ne.value=!0}}function _(e){h(()=>{Ue()},[]);let t=ke.value;return t!==null?o`<${t} ...${e} />`:Ne.value?o`<p role="alert">${l.shell.pageFailed(l.signIn.title)}</p>
    <p><button type="button" onClick=${()=>location.reload()}>${l.shell.reload}</button></p>`:o`<p class="hint">${l.shell.loading}</p>`}function We(){let e=oe.value;return o`
    <a class="skip" href="#content" onClick=${Ge}>${l.shell.skip}</a>
    <p class="away" role="status">${B.value&&l.shell.away}</p>
    ${k.value&&o`<${ye} pages=${k.value.pages} />`}
    <${_e} />
    <${ue} />
    <${ze} />
    <${te} />
    <${pe} />
    ${e&&o`<${K} title=${l.signIn.againTitle} onClose=${()=>e.end(!1)}>
        <p>${l.signIn.again}</p>
        <${_} again />
        <p class="buttons"><button type="button" onClick=${()=>e.end(!1)}>${l.cancel}</button></p>
      <//>`}
  `}function Ge(e){e.preventDefault(),document.getElementById("content")?.focus()}function _e(){let e=k.value;return o`<header class="top">
    <${H} />
    ${e?.search&&o`<${Me} />`}
    ${e&&o`<div class="end">
        ${e.user.owner&&o`<${de} />`}
        <${we} user=${e.user} pages=${e.pages} />
      </div>`}
  </header>`}function ze(){let e=k.value;if(e===void 0){let{loading:n,awayTitle:a,awayText:s}=l.shell;return o`<main id="content">
      ${B.value?o`<h1 class="unseen">${V.value}</h1><${ce} icon="wifi-off" title=${a} text=${s} />`:o`<p class="hint">${n}</p>`}
    </main>`}if(e===null)return o`<main id="content" tabindex="-1" class="narrow"><${_} /></main>`;let t=y.value;if(t!==void 0)return o`<${ie} key=${t.name} page=${t} user=${e.user} />`;let r=e.pages.length===0?l.shell.noPages:l.shell.noPage;return o`<main id="content" tabindex="-1" class="narrow"><p>${r}</p></main>`}async function Ye(){await se(),X()&&ne()&&location.reload()}Y(o`<${We} />`,document.body);Ye().catch(e=>S(e,l.shell.requestFailed));
