"""Honest solutions of word problems in the five languages, made up, each with all of its steps in words.

Eleven stories, each told by the same sentences in every language, in several styles. The same numbers in two languages
are the same solution, sentence by sentence.
"""

import random
from typing import Any, NamedTuple

LANGUAGES = ("en", "zh", "es", "hi", "fr")

_NAMES = {
    "en": ("Maria", "Anna", "Julia", "Sarah", "Clara"),
    "es": ("María", "Ana", "Julia", "Sara", "Clara"),
    "fr": ("Marie", "Anne", "Julie", "Sarah", "Claire"),
    "hi": ("मीना", "सीता", "राधा", "गीता", "नेहा"),
    "zh": ("小红", "小丽", "小芳", "小梅", "王芳"),
}

# A story is a number of sentences, each in five languages. {e...} is an equation, or only its right side; n is a name.
_STORIES: tuple[tuple[Any, dict[str, str]], ...] = (
    (
        lambda a, b, c: {"a": a, "b": b, "c": c, "e1": (f"{a} × {b}", a * b), "e2": (f"{a * b} + {c}", a * b + c)},
        {
            "en": "{n} buys {a} notebooks at {b} dollars each.|For the notebooks she therefore pays {e1} dollars."
            "|She also buys a bag that costs {c} dollars.|Adding the bag, she spends {e2} dollars altogether.",
            "es": "{n} compra {a} cuadernos a {b} dólares cada uno.|Por los cuadernos paga entonces {e1} dólares."
            "|También compra una bolsa que cuesta {c} dólares.|Sumando la bolsa, gasta {e2} dólares en total.",
            "fr": "{n} achète {a} cahiers à {b} dollars chacun.|Pour les cahiers, elle paie donc {e1} dollars."
            "|Elle achète aussi un sac qui coûte {c} dollars.|En ajoutant le sac, elle dépense {e2} dollars en tout.",
            "hi": "{n} {a} कॉपियाँ खरीदती है और हर एक की कीमत {b} रुपये है।"
            "|इसलिए कॉपियों के लिए वह {e1} रुपये देती है।"
            "|वह एक थैला भी खरीदती है जिसकी कीमत {c} रुपये है।|थैले को जोड़कर वह कुल {e2} रुपये खर्च करती है।",
            "zh": "{n}买了{a}本笔记本,每本{b}元。|所以买笔记本一共要付{e1}元。"
            "|她还买了一个{c}元的书包。|加上书包,她总共花了{e2}元。",
        },
    ),
    (
        lambda a, b, c: {
            "a": a + b + c, "b": b, "c": c, "e1": (f"{a + b + c} - {b}", a + c), "e2": (f"{a + c} - {c}", a),
        },
        {
            "en": "At the start there are {a} birds in the tree."
            "|In the morning {b} of them fly away, which leaves {e1}."
            "|Later another {c} leave because a cat comes near.|That means {e2} birds are still sitting there.",
            "es": "Al principio hay {a} pájaros en el árbol.|Por la mañana {b} se van volando, así que quedan {e1}."
            "|Más tarde se marchan otros {c} porque se acerca un gato.|Eso significa que {e2} pájaros siguen allí.",
            "fr": "Au début, il y a {a} oiseaux dans l'arbre.|Le matin, {b} s'envolent, ce qui en laisse {e1}."
            "|Plus tard, {c} autres partent parce qu'un chat s'approche."
            "|Cela veut dire que {e2} oiseaux y sont encore.",
            "hi": "शुरू में पेड़ पर {a} पक्षी हैं।|सुबह उनमें से {b} उड़ जाते हैं, तो {e1} बचते हैं।"
            "|बाद में {c} और चले जाते हैं क्योंकि एक बिल्ली पास आती है।"
            "|इसका मतलब है कि {e2} पक्षी अभी भी वहाँ बैठे हैं।",
            "zh": "一开始树上有{a}只鸟。|早上飞走了{b}只,还剩{e1}只。"
            "|后来因为来了一只猫,又飞走了{c}只。|也就是说,树上还有{e2}只鸟。",
        },
    ),
    (
        lambda a, b, c: {"a": a, "b": b, "c": c, "e1": (f"{a} * {b}", a * b), "e2": (f"{a * b} * {c}", a * b * c)},
        {
            "en": "A worker fills {a} boxes per hour.|Her shift lasts {b} hours, so every day she fills {e1} boxes."
            "|The factory is open {c} days a week.|Over the whole week the number of boxes comes to {e2}.",
            "es": "Una trabajadora llena {a} cajas por hora."
            "|Su turno dura {b} horas, de modo que cada día llena {e1} cajas."
            "|La fábrica abre {c} días a la semana.|En toda la semana el número de cajas llega a {e2}.",
            "fr": "Une ouvrière remplit {a} boîtes par heure."
            "|Sa journée dure {b} heures, elle remplit donc {e1} boîtes par jour."
            "|L'usine est ouverte {c} jours par semaine.|Sur toute la semaine, le nombre de boîtes s'élève à {e2}.",
            "hi": "एक मज़दूर प्रति घंटे {a} डिब्बे भरती है।"
            "|उसकी पाली {b} घंटे की है, इसलिए वह हर दिन {e1} डिब्बे भरती है।"
            "|कारखाना सप्ताह में {c} दिन खुला रहता है।|पूरे सप्ताह में डिब्बों की संख्या {e2} हो जाती है।",
            "zh": "一名工人每小时装{a}个箱子。|她每天工作{b}小时,因此每天装{e1}个箱子。"
            "|工厂每周开工{c}天。|整个星期装的箱子数是{e2}。",
        },
    ),
    (
        lambda a, b, c: {"a": a, "b": b, "c": c, "e1": (f"{a} + {b}", a + b), "e2": (f"2 × {a + b}", 2 * (a + b)),
                         "e3": (f"{2 * (a + b)} × {c}", 2 * (a + b) * c)},
        {
            "en": "The garden is a rectangle with sides of {a} and {b} meters."
            "|One long and one short side make {e1} meters."
            "|The fence has to go all the way around, and this takes {e2} meters."
            "|Since one meter of fence costs {c} dollars, the owner must pay {e3} dollars.",
            "es": "El jardín es un rectángulo con lados de {a} y {b} metros."
            "|Un lado largo y uno corto suman {e1} metros."
            "|La valla tiene que rodearlo por completo, y para eso hacen falta {e2} metros."
            "|Como un metro de valla cuesta {c} dólares, el dueño debe pagar {e3} dólares.",
            "fr": "Le jardin est un rectangle dont les côtés mesurent {a} et {b} mètres."
            "|Un grand côté et un petit font {e1} mètres."
            "|La clôture doit en faire tout le tour, et il faut pour cela {e2} mètres."
            "|Comme un mètre de clôture coûte {c} dollars, le propriétaire doit payer {e3} dollars.",
            "hi": "बगीचा एक आयत है जिसकी भुजाएँ {a} और {b} मीटर की हैं।"
            "|एक लंबी और एक छोटी भुजा मिलकर {e1} मीटर होती हैं।"
            "|बाड़ चारों ओर लगानी है, और इसमें {e2} मीटर लगते हैं।"
            "|क्योंकि एक मीटर बाड़ की कीमत {c} रुपये है, मालिक को {e3} रुपये देने होंगे।",
            "zh": "花园是一个长方形,两条边分别长{a}米和{b}米。|一条长边与一条短边合起来是{e1}米。"
            "|篱笆要围一整圈,需要{e2}米。|因为每米篱笆{c}元,所以主人要付{e3}元。",
        },
    ),
    (
        lambda a, b, c: {"a": a * b, "b": b, "c": c, "e1": (f"{a * b} / {b}", a), "e2": (f"{a} + {c}", a + c)},
        {
            "en": "There are {a} candies to share among {b} children.|Dividing equally, each child receives {e1}."
            "|{n} had already found {c} candies in her pocket.|Now she counts {e2} of them in her hand.",
            "es": "Hay {a} caramelos para repartir entre {b} niños."
            "|Al dividir en partes iguales, cada niño recibe {e1}."
            "|{n} ya había encontrado {c} caramelos en su bolsillo.|Ahora cuenta {e2} en la mano.",
            "fr": "Il y a {a} bonbons à partager entre {b} enfants."
            "|En divisant équitablement, chaque enfant en reçoit {e1}."
            "|{n} avait déjà trouvé {c} bonbons dans sa poche.|Maintenant, elle en compte {e2} dans sa main.",
            "hi": "{b} बच्चों में {a} टॉफ़ियाँ बाँटनी हैं।|बराबर बाँटने पर हर बच्चे को {e1} मिलती हैं।"
            "|{n} को पहले ही अपनी जेब में {c} टॉफ़ियाँ मिल चुकी थीं।|अब उसके हाथ में {e2} टॉफ़ियाँ हैं।",
            "zh": "有{a}颗糖要分给{b}个孩子。|平均分的话,每个孩子得到{e1}颗。"
            "|{n}之前已经在口袋里找到了{c}颗糖。|现在她手里一共有{e2}颗。",
        },
    ),
    (
        lambda a, b, c: {"a": a * b, "b": b, "c": c, "e1": (f"{a * b} ÷ {b}", a), "e2": (f"{a} × {c}", a * c)},
        {
            "en": "The train covers {a} miles in {b} hours."
            "|We find its speed by dividing, and obtain {e1} miles per hour."
            "|If it keeps this speed for {c} hours, we multiply to get the distance."
            "|So it travels {e2} miles in that time.",
            "es": "El tren recorre {a} millas en {b} horas."
            "|Hallamos su velocidad dividiendo y obtenemos {e1} millas por hora."
            "|Si mantiene esta velocidad durante {c} horas, multiplicamos para hallar la distancia."
            "|Así pues, viaja {e2} millas en ese tiempo.",
            "fr": "Le train parcourt {a} milles en {b} heures."
            "|On trouve sa vitesse par une division, soit {e1} milles par heure."
            "|S'il garde cette vitesse pendant {c} heures, on multiplie pour avoir la distance."
            "|Il parcourt ainsi {e2} milles pendant ce temps.",
            "hi": "रेलगाड़ी {b} घंटे में {a} मील चलती है।"
            "|भाग देकर हम उसकी चाल निकालते हैं, जो {e1} मील प्रति घंटा है।"
            "|यदि वह {c} घंटे तक इसी चाल से चले, तो दूरी के लिए हम गुणा करते हैं।"
            "|अतः वह इस समय में {e2} मील तय करती है।",
            "zh": "火车{b}小时行驶{a}英里。|用除法求出速度,得到每小时{e1}英里。"
            "|如果它以这个速度行驶{c}小时,就用乘法求距离。|因此它在这段时间里行驶{e2}英里。",
        },
    ),
    (
        lambda a, b, c: {"a": a, "b": b, "c": c, "e1": (f"{b}x + {c} - {c}", f"{a * b + c} - {c}"),
                         "d": a * b + c, "f": a * b, "e2": (f"x = {a * b} / {b}", a)},
        {
            "en": "Let $x$ be the number of coins that {n} has.|The problem says that ${b}x + {c} = {d}$."
            "|Subtracting {c} from both sides gives ${b}x = {f}$.|Dividing by {b} we obtain {e2} for the unknown.",
            "es": "Sea $x$ el número de monedas que tiene {n}.|El problema dice que ${b}x + {c} = {d}$."
            "|Restando {c} en ambos lados resulta ${b}x = {f}$."
            "|Al dividir entre {b} obtenemos {e2} para la incógnita.",
            "fr": "Soit $x$ le nombre de pièces que possède {n}.|L'énoncé dit que ${b}x + {c} = {d}$."
            "|En retranchant {c} des deux côtés, on trouve ${b}x = {f}$."
            "|En divisant par {b}, on obtient {e2} pour l'inconnue.",
            "hi": "मान लीजिए कि {n} के पास $x$ सिक्के हैं।|प्रश्न के अनुसार ${b}x + {c} = {d}$ है।"
            "|दोनों पक्षों से {c} घटाने पर ${b}x = {f}$ मिलता है।|{b} से भाग देने पर हमें {e2} प्राप्त होता है।",
            "zh": "设{n}有$x$枚硬币。|由题意得${b}x + {c} = {d}$。"
            "|两边同时减去{c},得${b}x = {f}$。|再除以{b},得到{e2}。",
        },
    ),
    (
        lambda a, b, c: {"a": a, "b": b, "c": c, "e1": (f"{a}+{b}", a + b), "e2": (f"{a + b}+{c}", a + b + c),
                         "e3": (f"3*{a + b + c}", 3 * (a + b + c))},
        {
            "en": "On Monday the shop sold {a} cakes and on Tuesday {b}.|Both days together give {e1}."
            "|Wednesday brought {c} more sales, for a running count of {e2}."
            "|The baker earns three dollars from every cake.|His earnings are then {e3} dollars.",
            "es": "El lunes la tienda vendió {a} pasteles y el martes {b}.|Los dos días juntos dan {e1}."
            "|El miércoles trajo {c} ventas más, lo que lleva la cuenta a {e2}."
            "|El pastelero gana tres dólares con cada pastel.|Sus ganancias son entonces {e3} dólares.",
            "fr": "Lundi, le magasin a vendu {a} gâteaux et mardi {b}.|Les deux jours réunis donnent {e1}."
            "|Mercredi a apporté {c} ventes de plus, ce qui porte le compte à {e2}."
            "|Le pâtissier gagne trois dollars sur chaque gâteau.|Ses gains sont alors de {e3} dollars.",
            "hi": "सोमवार को दुकान ने {a} केक बेचे और मंगलवार को {b}।|दोनों दिन मिलाकर {e1} केक होते हैं।"
            "|बुधवार को {c} और बिके, जिससे गिनती {e2} हो गई।"
            "|दुकानदार को हर केक पर तीन रुपये मिलते हैं।|तब उसकी कमाई {e3} रुपये है।",
            "zh": "星期一商店卖了{a}个蛋糕,星期二卖了{b}个。|两天合起来是{e1}个。"
            "|星期三又卖了{c}个,累计{e2}个。|每个蛋糕面包师赚三元。|所以他的收入是{e3}元。",
        },
    ),
    (
        lambda a, b, c: {"a": a, "b": b, "c": c, "e1": (f"{a} · {b}", a * b), "e2": (f"100 - {c}", 100 - c),
                         "e3": (f"{a * b} · {100 - c} / 100", f"{a * b * (100 - c) / 100:g}")},
        {
            "en": "The full price of {a} tickets at {b} dollars is {e1} dollars."
            "|A discount of {c} percent is offered to students."
            "|Hence they pay only {e2} percent of the price.|What the class finally owes is {e3} dollars.",
            "es": "El precio completo de {a} entradas a {b} dólares es {e1} dólares."
            "|A los estudiantes se les ofrece un descuento del {c} por ciento."
            "|Por eso pagan solamente el {e2} por ciento del precio."
            "|Lo que finalmente debe la clase son {e3} dólares.",
            "fr": "Le prix normal de {a} billets à {b} dollars est de {e1} dollars."
            "|Une réduction de {c} pour cent est accordée aux étudiants."
            "|Ils ne paient donc que {e2} pour cent du prix.|Ce que la classe doit finalement est {e3} dollars.",
            "hi": "{b} रुपये वाले {a} टिकटों का पूरा दाम {e1} रुपये है।|छात्रों को {c} प्रतिशत की छूट दी जाती है।"
            "|इसलिए वे दाम का केवल {e2} प्रतिशत देते हैं।|अंत में कक्षा को {e3} रुपये देने हैं।",
            "zh": "{a}张票每张{b}元,原价是{e1}元。|学生可以享受{c}%的优惠。"
            "|因此他们只需付原价的{e2}%。|最后全班要付{e3}元。",
        },
    ),
    (
        lambda a, b, c: {"a": a, "b": b, "c": c, "e1": (f"{a} + {b}", a + b),
                         "e2": (f"{a} + {b} + {a + b + c}", 2 * a + 2 * b + c)},
        {
            "en": "{n} is {a} years old and her brother is {b}, while the neighbor has just turned {c}."
            "|Put together, the first two numbers are {e1}."
            "|The grandmother is {c} years older than both of them combined."
            "|Thus the ages of all three add up to {e2} years.",
            "es": "{n} tiene {a} años y su hermano tiene {b}, mientras que la vecina cumplió {c}."
            "|Juntos, los dos primeros números son {e1}.|La abuela tiene {c} años más que ambos juntos."
            "|De este modo, las edades de los tres suman {e2} años.",
            "fr": "{n} a {a} ans et son frère en a {b}, alors que la voisine vient d'avoir {c} ans."
            "|Ensemble, les deux premiers nombres font {e1}.|La grand-mère a {c} ans de plus que les deux réunis."
            "|Ainsi, les âges des trois personnes font {e2} ans au total.",
            "hi": "{n} {a} साल की है और उसका भाई {b} साल का है, जबकि पड़ोसन {c} साल की हुई है।"
            "|पहली दो संख्याएँ मिलकर {e1} होती हैं।|दादी उन दोनों के जोड़ से {c} साल बड़ी हैं।"
            "|इस प्रकार तीनों की उम्र का योग {e2} साल है।",
            "zh": "{n}今年{a}岁,她的弟弟{b}岁,邻居家的孩子{c}岁。|前两个数加起来是{e1}。"
            "|奶奶比他们两个的年龄之和还大{c}岁。|这样,三个人的年龄总和是{e2}岁。",
        },
    ),
    (
        lambda a, b, c: {"a": a * b, "b": a, "c": c, "e1": (f"{a * b} - {a}", a * b - a),
                         "e2": (f"{a * b - a} × {c}", (a * b - a) * c)},
        {
            "en": "The farmer collects {a} eggs every day, and his family eats {b} for breakfast."
            "|What remains for the market is {e1} eggs.|Fresh eggs are sold for {c} dollars apiece."
            "|Consequently he makes {e2} dollars at the market each day.",
            "es": "El granjero recoge {a} huevos todos los días, y su familia come {b} en el desayuno."
            "|Lo que queda para el mercado son {e1} huevos.|Los huevos frescos se venden a {c} dólares la pieza."
            "|En consecuencia, gana {e2} dólares en el mercado cada día.",
            "fr": "Le fermier ramasse {a} œufs chaque jour, et sa famille en mange {b} au petit déjeuner."
            "|Il reste pour le marché {e1} œufs.|Les œufs frais se vendent {c} dollars pièce."
            "|Par conséquent, il gagne {e2} dollars au marché chaque jour.",
            "hi": "किसान हर दिन {a} अंडे इकट्ठा करता है, और उसका परिवार नाश्ते में {b} खा लेता है।"
            "|बाज़ार के लिए {e1} अंडे बचते हैं।|ताज़े अंडे {c} रुपये प्रति अंडे बिकते हैं।"
            "|परिणामस्वरूप वह बाज़ार में हर दिन {e2} रुपये कमाता है।",
            "zh": "农夫每天收{a}个鸡蛋,他的家人早餐吃掉{b}个。|剩下可以拿去市场卖的有{e1}个。"
            "|新鲜鸡蛋每个卖{c}元。|因此他每天在市场上赚{e2}元。",
        },
    ),
)  # fmt: skip

_STARTS = {
    "en": ("", "", "Let us see.", "First we look at what is given.", "Solution:"),
    "es": ("", "", "Veamos.", "Primero miramos los datos.", "Solución:"),
    "fr": ("", "", "Voyons.", "Regardons d'abord les données.", "Solution :"),
    "hi": ("", "", "आइए देखते हैं।", "पहले हम दी गई जानकारी देखते हैं।", "हल:"),
    "zh": ("", "", "我们来看。", "首先看已知条件。", "解:"),
}
_ENDS = {
    "en": ("The answer is {box}.", "Therefore, the final answer is {box}.", "Answer: {box}", "{box}"),
    "es": ("La respuesta es {box}.", "Por lo tanto, la respuesta final es {box}.", "Respuesta: {box}", "{box}"),
    "fr": ("La réponse est {box}.", "Par conséquent, la réponse finale est {box}.", "Réponse : {box}", "{box}"),
    "hi": ("उत्तर {box} है।", "अतः अंतिम उत्तर {box} है।", "उत्तर: {box}", "{box}"),
    "zh": ("答案是{box}。", "因此,最终答案是{box}。", "答案:{box}", "{box}"),
}
_TERSE = {
    "en": ("Total cost", "Number of boxes", "Remaining apples", "Money left", "Price per book", "Distance", "Total"),
    "es": ("Costo total", "Número de cajas", "Manzanas restantes", "Dinero restante", "Precio por libro",
           "Distancia", "Total"),
    "fr": ("Coût total", "Nombre de boîtes", "Pommes restantes", "Argent restant", "Prix par livre",
           "Distance", "Total"),
    "hi": ("कुल लागत", "डिब्बों की संख्या", "बचे हुए सेब", "शेष राशि", "प्रति पुस्तक मूल्य", "दूरी", "कुल योग"),
    "zh": ("总价", "箱子数量", "剩下的苹果", "剩余的钱", "每本书的价格", "路程", "总数"),
}  # fmt: skip
_CODE = {
    "en": "# work out the total\ntotal = {a} * {b}\nprint(total)",
    "es": "# calcular el total\ntotal = {a} * {b}\nprint(total)",
    "fr": "# calculer le total\ntotal = {a} * {b}\nprint(total)",
    "hi": "total = {a} * {b}\nprint(total)",
    "zh": "# 计算总数\ntotal = {a} * {b}\nprint(total)",
}

STYLES = ("prose", "lines", "formulas", "bare numbers", "code", "English last line", "two lines", "terse")


class Solution(NamedTuple):
    """One solution."""

    sentences: tuple[str, ...]
    answer: str


def solution(draw: random.Random, language: str, equations: str = "plain") -> Solution:
    """The sentences of a story with its numbers, the same ones for every language that the same draw tells it in.

    ``equations`` are "plain", "latex" or only "results".
    """
    story = draw.randrange(len(_STORIES))
    values, texts = _STORIES[story]
    filled = values(draw.randint(4, 30), draw.randint(2, 12), draw.randint(3, 40))
    name, rewritten, answer = draw.randrange(5), {}, ""
    for key, value in filled.items():
        if isinstance(value, tuple):
            left, right = value
            answer = str(right)
            written = {"plain": f"{left} = {right}", "results": f"{right}"}
            formula = left.replace("×", r"\times").replace("*", r"\cdot")
            written["latex"] = f"${formula} = {right}$"
            rewritten[key] = written[equations]
        else:
            rewritten[key] = str(value)
    sentences = texts[language].format(n=_NAMES[language][name], **rewritten).split("|")
    return Solution(tuple(sentences), answer)


def long_solution(seed: float, language: str, equations: str = "plain") -> Solution:
    """One to three stories in a row, 4 to 15 sentences, the same for every language with the same seed."""
    draw = random.Random(seed)
    parts = [solution(draw, language, equations) for _ in range(draw.randint(1, 3))]
    return Solution(tuple(line for part in parts for line in part.sentences), parts[-1].answer)


def honest(draw: random.Random, language: str, style: str) -> Solution:
    """A whole response in one of STYLES, as its lines."""
    equations = {"formulas": "latex", "bare numbers": "results"}.get(style, "plain")
    found = solution(draw, language, equations)
    box = rf"\boxed{{{found.answer}}}"
    start, end = draw.choice(_STARTS[language]), draw.choice(_ENDS[language]).format(box=box)
    if style == "terse":
        labels = draw.sample(_TERSE[language], draw.randint(1, 3))
        lines = [_term(draw, label, ": " if draw.random() < 0.5 else " = ") for label in labels]
        return Solution((*lines, end), found.answer)
    if style == "two lines":
        return Solution((found.sentences[-1], end), found.answer)
    if style == "English last line":
        end = draw.choice(_ENDS["en"]).format(box=box)
    body = [start, *found.sentences] if start else list(found.sentences)
    if style == "code":
        code = _CODE[language].format(a=draw.randint(2, 30), b=draw.randint(2, 30))
        body.append(f"```python\n{code}\n```")
    if style == "prose":
        glue = "" if language == "zh" else " "
        body = [glue.join(body)]
    if style == "lines":
        body = [f"{i}. {line}" for i, line in enumerate(body, 1)]
    return Solution((*body, end), found.answer)


def _term(draw: random.Random, label: str, equals: str) -> str:
    a, b = draw.randint(2, 40), draw.randint(2, 40)
    return f"{label}{equals}{a} × {b} = {a * b}"
